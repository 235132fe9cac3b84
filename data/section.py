"""The base of every section of a configuration, wherever it is defined: unknown keys and wrong types are refused, nothing
changes later."""

from pydantic import BaseModel, ConfigDict

STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, validate_default=True)
NO_IDENTITY = {"identity": False}  # json_schema_extra of a key that changes no number


class Section(BaseModel):
    model_config = STRICT
