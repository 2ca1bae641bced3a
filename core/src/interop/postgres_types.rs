//! `ToSql` and `FromSql`, for the crates `postgres` and `tokio-postgres`: ten bytes for PostgreSQL's type `sno`
//! and for `bytea`, 16 characters for `text`, and the same for domains over them.

use std::error::Error;

use ::postgres_types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};
use bytes::{BufMut as _, BytesMut};

use crate::id::sno::Sno;

/// The form in which a type of PostgreSQL holds an ID.
#[derive(Clone, Copy)]
enum Form {
    Bytes,
    Text,
}

impl Form {
    /// By name, since the OID of an extension's type differs from database to database. A domain is sent as what is
    /// below it.
    fn of(ty: &Type) -> Option<Self> {
        match *ty {
            Type::BYTEA => Some(Self::Bytes),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR => Some(Self::Text),
            _ => match ty.kind() {
                Kind::Simple if ty.name() == "sno" => Some(Self::Bytes),
                Kind::Domain(base) => Self::of(base),
                _ => None,
            },
        }
    }
}

/// An ID is sent to a `sno` or `bytea` as ten bytes, to `text`, `varchar` or `char` as 16 characters, and to a domain as to its type.
impl ToSql for Sno {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match Form::of(ty) {
            Some(Form::Text) => out.put_slice(&self.to_text()),
            _ => out.put_slice(self.as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        Form::of(ty).is_some()
    }

    to_sql_checked!();
}

/// An ID is read from the same types.
impl FromSql<'_> for Sno {
    fn from_sql(ty: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        match Form::of(ty) {
            Some(Form::Text) => Ok(Self::parse_bytes(raw)?),
            _ => Ok(Self::from_binary(raw)?),
        }
    }

    fn accepts(ty: &Type) -> bool {
        Form::of(ty).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Sno = Sno::from_bytes([0x4b, 0x9a, 0x1d, 3, 5, 1, 42, 7, 0, 9]);

    fn sno() -> Type {
        Type::new("sno".into(), 16_385, Kind::Simple, "extensions".into())
    }

    /// As the page about kinds creates it, and a domain over that.
    fn domain(base: Type) -> Type {
        Type::new("order_id".into(), 16_395, Kind::Domain(base), "public".into())
    }

    fn written(ty: &Type) -> Vec<u8> {
        let mut out = BytesMut::new();
        assert!(matches!(ID.to_sql_checked(ty, &mut out), Ok(IsNull::No)));
        out.to_vec()
    }

    #[test]
    fn ten_bytes_or_sixteen_characters() {
        for ty in [sno(), domain(sno()), domain(domain(sno())), Type::BYTEA, domain(Type::BYTEA)] {
            assert_eq!(written(&ty), ID.to_bytes());
            assert_eq!(Sno::from_sql(&ty, ID.as_bytes()).unwrap(), ID);
        }
        for ty in [Type::TEXT, Type::VARCHAR, Type::BPCHAR, domain(Type::TEXT)] {
            assert_eq!(written(&ty), ID.to_text());
            assert_eq!(Sno::from_sql(&ty, &ID.to_text()).unwrap(), ID);
        }
    }

    #[test]
    fn no_other_type() {
        let row_of_a_table = Type::new("sno".into(), 16_400, Kind::Composite(vec![]), "public".into());
        let domain_called_sno = Type::new("sno".into(), 16_401, Kind::Domain(Type::UUID), "public".into());
        for ty in
            [Type::UUID, Type::INT8, Type::TEXT_ARRAY, row_of_a_table, domain_called_sno, domain(Type::INT8)]
        {
            assert!(!<Sno as ToSql>::accepts(&ty) && !<Sno as FromSql>::accepts(&ty), "{ty}");
            assert!(ID.to_sql_checked(&ty, &mut BytesMut::new()).is_err());
        }
    }

    #[test]
    fn arrays() {
        for member in [sno(), domain(sno())] {
            let ty = Type::new("_member".into(), 16_390, Kind::Array(member), "extensions".into());
            let ids = vec![Some(ID), None, Some(Sno::MAX)];
            let mut out = BytesMut::new();
            ids.to_sql_checked(&ty, &mut out).unwrap();
            assert!(<Vec<Option<Sno>> as FromSql>::accepts(&ty));
            assert_eq!(<Vec<Option<Sno>>>::from_sql(&ty, &out).unwrap(), ids);
        }
    }

    #[test]
    fn what_is_no_id_is_an_error() {
        let error = Sno::from_sql(&sno(), &[0; 9]).unwrap_err();
        assert_eq!(error.to_string(), "length of a binary sno is 9 bytes instead of 10");
        let error = Sno::from_sql(&Type::TEXT, b"222222222222222y").unwrap_err();
        assert_eq!(error.to_string(), "character 16 is not one of 2-9 and a-x");
    }
}
