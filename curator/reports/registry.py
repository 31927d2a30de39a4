"""The fields of the Differential Privacy Deployments Registry (arXiv 2509.13509), for a data set.

Responsible for the fields of the registry's schema of deployments, as of October 2025, and for
what is to be filled in by hand. A field that only the owner can tell is read from the table
`[report]` of the configuration; None if it is not there.
"""

from collections.abc import Mapping
from typing import Any

import attrs

Facts = Mapping[str, Any]

_KNOWN = {"PureDP": "Pure DP", "ApproxDP": "Approximate DP", "ZCDP": "Zero Concentrated DP"}


@attrs.frozen
class RegistryField:
    """A field of the schema.

    Attributes:
        field: where it stands in the schema.
        value: its text; None if it is not known.
        source: where it comes from.
    """

    field: str
    value: str | None
    source: str


def fields_of(facts: Facts, name: str) -> tuple[RegistryField, ...]:
    """The fields of a data set."""
    said, owner = facts["data_sets"][name], facts["owner"]

    def told(field: str, key: str) -> RegistryField:
        return RegistryField(field, owner.get(key), f"the configuration: report.{key}")

    def known(field: str, value: str | None, source: str) -> RegistryField:
        return RegistryField(field, value, source)

    ledger, claims = "the ledger", "docs/claims.md"
    kinds = ", ".join(f"{tag} ({count})" for tag, count in said.get("launched", {}).items())
    return (
        known("short_name", name, "the configuration"),
        told("data_curator", "data_curator"),
        told("intended_use", "intended_use"),
        known("data_product_type", "Answers to questions of analysts", "docs/asking.md"),
        told("data_product_description", "data_product_description"),
        told("publication_date", "publication_date"),
        told("additional_information_url", "additional_information_url"),
        known("dp_flavor.name", _flavor(said), ledger),
        told("dp_flavor.data_domain", "data_domain"),
        known(
            "dp_flavor.unprotected_quantities",
            "None in answers. Public: names and types of columns, bounds, budgets, questions.",
            "docs/threats.md",
        ),
        known("privacy_loss.privacy_unit", said.get("unit", "record"), ledger),
        known("privacy_loss.privacy_unit_description", _adjacent(said), ledger),
        *_numbers(said),
        known("model.model_type", "Central", "docs/threats.md"),
        known("model.actors", _actors(facts), "docs/threats.md; the ledger"),
        known(
            "model.release_type",
            "Continual" if said.get("grows") or said.get("batches") else "One-shot",
            "the configuration: batches; the ledger",
        ),
        known("model.release_type_description", "One budget for all answers, never reset.", claims),
        known("model.interactivity", "Interactive", "docs/asking.md"),
        known(
            "model.interactivity_description",
            "Each analyst has grants that are paid in full from the budget. No assumption that "
            "analysts do not collude: the budget bounds all of them together.",
            "docs/threats.md",
        ),
        known(
            "additional_dp_information.post_processing",
            "Estimates and intervals are computed from noisy numbers alone.",
            claims,
        ),
        known(
            "additional_dp_information.composition",
            f"Adaptive, interactive, concurrent: {said.get('mechanism')} with the rule "
            f"{said.get('rule') or 'of its own'}.",
            f"{ledger}; {claims}",
        ),
        told("implementation.pre_processing_eda_hyperparameter_tuning", "pre_processing"),
        known("implementation.mechanisms", kinds or "none was launched yet", ledger),
        told("implementation.justification", "justification"),
    )


def _flavor(said: Facts) -> str | None:
    measure = said.get("measure")
    return None if measure is None else _KNOWN.get(measure, f"other: {measure}")


def _adjacent(said: Facts) -> str:
    unit, d_in = said.get("unit", "record"), said.get("d_in", 1)
    step = {1: f"adding or removing one {unit}", 2: f"replacing one {unit} by another"}
    words = step.get(d_in, f"adding or removing {d_in} {unit}s")
    return f"{words}; {said.get('extent', 'as the mechanisms state')}"


def _numbers(said: Facts) -> tuple[RegistryField, ...]:
    """The parameters: those of the budget itself, and of its first conversion."""
    source = "the ledger; exact, or rounded against the analyst"
    converted = [*said.get("approximate", ())]
    known = {name: converted[0][name] for name in ("epsilon", "delta") if converted}
    known |= said.get("parameters", {})
    also = [each["text"] for each in (*filter(None, [said.get("budget")]), *converted)]
    fields = {f"privacy_parameters.{name}": known.get(name) for name in ("epsilon", "rho", "delta")}
    fields["privacy_parameters_description"] = "; ".join(also) or None
    return tuple(RegistryField(f"privacy_loss.{name}", fields[name], source) for name in fields)


def _actors(facts: Facts) -> str:
    analysts = len(facts["analysts"])
    return (
        "The owner, trusted with the data; "
        f"{analysts} analyst{'s' * (analysts != 1)}, who are not trusted"
    )
