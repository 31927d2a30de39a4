"""The compositors: filters, odometers, concurrent, parallel and ex-post composition."""
