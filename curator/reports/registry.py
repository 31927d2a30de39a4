"""The fields of the Differential Privacy Deployments Registry (arXiv 2509.13509), for a data set.

Responsible for the fields of a deployment, by their names in the registry's template of 2026. A
field that only the owner can tell is read from the table `[report]` of the configuration; None if
it is not there.
"""

from collections.abc import Mapping
from typing import Any

import attrs

Facts = Mapping[str, Any]

_KNOWN = {"PureDP": "Pure DP", "ApproxDP": "Approximate DP", "ZCDP": "Zero-concentrated DP"}
_LEDGER, _CLAIMS, _THREATS = "the ledger", "docs/claims.md", "docs/threats.md"


@attrs.frozen
class RegistryField:
    """A field of a deployment.

    Attributes:
        field: where it stands in the template.
        value: its text; None if it is not known.
        source: where it comes from.
    """

    field: str
    value: str | None
    source: str


def fields_of(facts: Facts, name: str) -> tuple[RegistryField, ...]:
    """The fields of a data set."""
    said, owner = facts["data_sets"][name], facts["owner"]

    def told(field: str, key: str = "") -> RegistryField:
        key = key or field.rpartition(".")[2]
        return RegistryField(field, owner.get(key), f"the configuration: report.{key}")

    return (
        RegistryField("basic.name", name, _LEDGER),
        told("basic.data_curators", "data_curator"),
        told("basic.description"),
        told("basic.intended_use"),
        RegistryField("basic.data_product_type", "Answers to questions", "docs/asking.md"),
        told("basic.data_product_region"),
        told("basic.data_product_sector"),
        told("basic.publication_date"),
        RegistryField("dp_variant.variant_name", _variant(said), _LEDGER),
        told("dp_variant.data_domain"),
        RegistryField(
            "dp_variant.unprotected_quantities",
            "None in answers. Public: names and types of columns, bounds, budgets, questions.",
            _THREATS,
        ),
        *_privacy_loss(said),
        *_model(facts, said),
        told("implementation.preprocessing_and_hyperparameter_tuning"),
        RegistryField("implementation.mechanisms", _mechanisms(said), f"{_LEDGER}; docs/noise.md"),
        RegistryField(
            "implementation.composition",
            f"Adaptive, interactive, concurrent: {said.get('mechanism')} with the rule "
            f"{said.get('rule') or 'of its own'}.",
            f"{_LEDGER}; {_CLAIMS}",
        ),
        RegistryField(
            "implementation.post_processing",
            "Estimates and intervals are computed from noisy numbers alone.",
            _CLAIMS,
        ),
        told("implementation.justification"),
        RegistryField("implementation.utility", _utility(said), "docs/tables/intervals.md"),
        told("implementation.additional_information"),
        told("administrative.evidence_sources"),
        told("administrative.registry_authors"),
    )


def _variant(said: Facts) -> str | None:
    measure = said.get("measure")
    if measure is None:
        return None
    return _KNOWN.get(measure, "Renyi DP" if measure.startswith("RDP") else f"Custom: {measure}")


def _privacy_loss(said: Facts) -> tuple[RegistryField, ...]:
    """Unit and parameters: those of the budget itself, and of its first conversion."""
    unit, d_in = said.get("unit", "record"), said.get("d_in", 1)
    step = {1: f"adding or removing one {unit}", 2: f"replacing one {unit} by another"}
    words = step.get(d_in, f"adding or removing {d_in} {unit}s")
    converted = [*said.get("approximate", ())]
    known = {name: converted[0][name] for name in ("epsilon", "delta") if converted}
    known |= said.get("parameters", {})
    also = [each["text"] for each in (*filter(None, [said.get("budget")]), *converted)]
    values = {
        "privacy_unit": unit,
        "privacy_unit_details": f"{words}; {said.get('extent', 'as the mechanisms state')}",
        "number_of_privacy_units": f"{d_in} added or removed; not how many there are",
        **{f"privacy_parameters.{each}": known.get(each) for each in ("epsilon", "delta", "rho")},
        "privacy_parameters_details": "; ".join(also) or None,
    }
    source = f"{_LEDGER}; exact, or rounded against the analyst"
    return tuple(RegistryField(f"privacy_loss.{each}", values[each], source) for each in values)


def _model(facts: Facts, said: Facts) -> tuple[RegistryField, ...]:
    analysts = len(facts["analysts"])
    grows = said.get("grows") or said.get("batches")
    values = {
        "model_name": "Central",
        "model_name_details": "The owner of the folder holds the data and adds the noise.",
        "trust_assumptions": "The owner is trusted, and whoever has the key with the ledger.",
        "actors": f"The owner; {analysts} analyst{'s' * (analysts != 1)}, who are not trusted",
        "release_type": "Many releases",
        "release_type_details": "One budget for all answers, which is never reset.",
        "data_source_type": "Dynamic" if grows else "Static",
        "data_source_type_details": f"Batches so far: {said.get('batches', 0)}.",
        "access_type": "Interactive",
        "access_type_details": (
            "Each analyst has grants that are paid in full from the budget. No assumption that "
            "analysts do not collude: the budget bounds all of them together."
        ),
    }
    source = f"{_THREATS}; {_LEDGER}"
    return tuple(RegistryField(f"deployment_model.{each}", values[each], source) for each in values)


def _mechanisms(said: Facts) -> str:
    kinds = ", ".join(f"{tag} ({count})" for tag, count in said.get("launched", {}).items())
    tick = f"a tick of {said['tick']} s" if said.get("tick") else "no tick"
    return (
        f"Launched: {kinds or 'nothing yet'}. Noise is of integers, with exact laws, so rounding "
        f"of floats tells nothing. Times of replies: {tick}."
    )


def _utility(said: Facts) -> str | None:
    count = said.get("count")
    if not count:
        return None
    return (
        f"A count of rows for all of the budget is within {count['all']} of the value without "
        "noise in 95 of 100 cases."
    )
