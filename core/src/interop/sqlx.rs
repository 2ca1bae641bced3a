//! `Type`, `Encode` and `Decode` of `sqlx`, for PostgreSQL's types `sno` and `sno[]`, and for domains over `sno`.

use ::sqlx::{
    Decode, Encode, Postgres, Type, TypeInfo as _,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgTypeKind, PgValueFormat, PgValueRef},
};

use crate::id::sno::Sno;

/// Whether a type as PostgreSQL shows it has this name. It is shown with its schema if that is not in the search path.
fn names(shown: &str, name: &str) -> bool {
    shown.strip_suffix(name).is_some_and(|schema| schema.is_empty() || schema.ends_with('.'))
}

/// What a type is made of, if a server has described it. `PgTypeInfo::kind` panics for a type that is only a name.
fn kind(ty: &PgTypeInfo) -> Option<&PgTypeKind> {
    ty.oid().map(|_| ty.kind())
}

/// The type `sno`, whose schema has to be in the session's `search_path` for parameters.
impl Type<Postgres> for Sno {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("sno")
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        *ty == Self::type_info()
            || names(ty.name(), "sno")
            || matches!(kind(ty), Some(PgTypeKind::Domain(base)) if Self::compatible(base))
    }
}

/// The type `sno[]`, and arrays of domains over `sno`.
impl PgHasArrayType for Sno {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::array_of("sno")
    }

    fn array_compatible(ty: &PgTypeInfo) -> bool {
        *ty == Self::array_type_info()
            || names(ty.name(), "sno[]")
            || matches!(kind(ty), Some(PgTypeKind::Array(member)) if Self::compatible(member))
    }
}

/// An ID is sent as ten bytes.
impl Encode<'_, Postgres> for Sno {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(self.as_bytes());
        Ok(IsNull::No)
    }
}

/// An ID is read from ten bytes, or from 16 characters, which is what a query without parameters returns.
impl Decode<'_, Postgres> for Sno {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => Ok(Self::from_binary(value.as_bytes()?)?),
            PgValueFormat::Text => Ok(Self::parse_bytes(value.as_bytes()?)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_compatible_by_name() {
        for name in ["sno", "extensions.sno", "\"my schema\".sno"] {
            assert!(Sno::compatible(&PgTypeInfo::with_name(name)), "{name}");
        }
        for name in ["sno[]", "xsno", "sno.other", "text", "bytea", "uuid"] {
            assert!(!Sno::compatible(&PgTypeInfo::with_name(name)), "{name}");
        }
        assert!(Sno::array_compatible(&PgTypeInfo::array_of("sno")));
        assert!(Sno::array_compatible(&PgTypeInfo::array_of("extensions.sno")));
        assert!(!Sno::array_compatible(&PgTypeInfo::array_of("text")));
    }
}
