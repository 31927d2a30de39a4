"""Tables, privacy units, expressions, statistics, and the engines that evaluate them."""
