//! SQL in parts that cannot be mixed up: names, literals, remarks, and expressions that the server has
//! deparsed or the DBA has said. Only these
//! types get into a statement, by `sql!`, whose template is part of this program.

use std::fmt::{self, Display};

/// A name, which is always written in quotes.
#[derive(Default, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Ident(pub(super) String);

/// A name with its schema.
#[derive(Default, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) schema: Ident,
    pub(super) name: Ident,
}

/// A string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Literal(pub(super) String);

/// A comment of one line, whatever is in it: the rest of a name would else be a statement, or a command of
/// psql.
#[derive(Clone, Debug)]
pub(super) struct Remark(pub(super) String);

/// What the server has deparsed from a catalog: an expression, a definition, a type. Or an expression of
/// the DBA's, who may say anything.
#[derive(Default, Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression(pub(super) String);

/// The body of a function, or of DO.
pub(super) struct Body(pub(super) Sql);

/// A statement, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Sql(String);

/// What can be a part of a statement. A `String` can't.
pub(super) trait Part {
    fn put(&self, into: &mut String);
}

/// A statement of a template, which can be a file, and parts in the place of each `{}` or `{name}`: `name = part`, or
/// `[name, …]` for those that are called so. `concat!` keeps `format!` from taking names that are not given, which need
/// not be parts.
macro_rules! sql {
    ($template:expr, [$($same:ident),+] $(, $name:ident = $part:expr)* $(,)?) => {
        $crate::moving::sql::sql!($template $(, $same = $same)+ $(, $name = $part)*)
    };
    ($template:expr $(, $name:ident = $part:expr)+ $(,)?) => {
        $crate::moving::sql::Sql::of_template(format_args!(concat!($template) $(, $name = $crate::moving::sql::Shown(&$part))+))
    };
    ($template:expr $(, $part:expr)* $(,)?) => {
        $crate::moving::sql::Sql::of_template(format_args!(concat!($template) $(, $crate::moving::sql::Shown(&$part))*))
    };
}
pub(super) use sql;

/// A part, for `sql!`.
pub(super) struct Shown<'a, P: ?Sized>(pub(super) &'a P);

impl<P: Part + ?Sized> Display for Shown<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut sql = String::new();
        self.0.put(&mut sql);
        f.write_str(&sql)
    }
}

impl Sql {
    /// For `sql!` alone, which takes nothing but parts.
    pub(super) fn of_template(parts: fmt::Arguments) -> Self {
        Self(parts.to_string())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A statement for psql, which puts its variables in the place of `:name` and `:"name"`, but not in strings, names
/// and remarks.
pub(super) fn for_psql(sql: &str) -> String {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut text = String::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let last = text.chars().next_back();
        let end_of =
            |quote: &str| rest[quote.len()..].find(quote).map_or(rest.len(), |at| at + 2 * quote.len());
        let length = match first {
            '\'' | '"' => end_of(&rest[..1]),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '$' if !last.is_some_and(is_inside) => {
                let tag = rest[1..].find(|c: char| !is_inside(c) || c == '$').map(|end| &rest[..end + 2]);
                tag.filter(|tag| tag.ends_with('$')).map_or(1, end_of)
            }
            other => other.len_utf8(),
        };
        text.push_str(&rest[..length]);
        rest = &rest[length..];
        if first == ':' && last != Some(':') && !rest.starts_with([':', '=', ' ']) {
            text.push(' ');
        }
    }
    text
}

/// A line for people, whatever names are in it: none can end it, or be what a terminal obeys.
pub(super) fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control() || "\u{2028}\u{2029}".contains(c), " ")
}

/// Parts in one, with this between them.
pub(super) fn join<P: Part>(parts: impl IntoIterator<Item = P>, between: &'static str) -> Sql {
    let mut sql = String::new();
    for (n, part) in parts.into_iter().enumerate() {
        if n > 0 {
            sql.push_str(between);
        }
        part.put(&mut sql);
    }
    Sql(sql)
}

impl Part for &'static str {
    fn put(&self, into: &mut String) {
        into.push_str(self);
    }
}

impl Part for Ident {
    fn put(&self, into: &mut String) {
        into.push('"');
        into.push_str(&self.0.replace('"', "\"\""));
        into.push('"');
    }
}

impl Part for Name {
    fn put(&self, into: &mut String) {
        self.schema.put(into);
        into.push('.');
        self.name.put(into);
    }
}

impl Part for Literal {
    fn put(&self, into: &mut String) {
        if self.0.contains('\\') {
            into.push('E');
        }
        into.push('\'');
        into.push_str(&self.0.replace('\\', "\\\\").replace('\'', "''"));
        into.push('\'');
    }
}

impl Part for Remark {
    fn put(&self, into: &mut String) {
        into.push_str("-- ");
        into.push_str(&one_line(&self.0));
    }
}

impl Part for Expression {
    fn put(&self, into: &mut String) {
        into.push_str(&self.0);
    }
}

impl Part for Body {
    fn put(&self, into: &mut String) {
        let body = self.0.as_str();
        // Nothing in it can end it.
        if body.contains("$move") || body.ends_with('$') {
            return Literal(body.to_owned()).put(into);
        }
        into.push_str("$move$");
        into.push_str(body);
        into.push_str("$move$");
    }
}

impl Part for Sql {
    fn put(&self, into: &mut String) {
        into.push_str(&self.0);
    }
}

macro_rules! number_parts {
    ($($number:ty),*) => { $(impl Part for $number {
        fn put(&self, into: &mut String) {
            into.push_str(&self.to_string());
        }
    })* };
}
number_parts!(i16, i32, i64, u32, usize, f32);

impl<P: Part + ?Sized> Part for &P {
    fn put(&self, into: &mut String) {
        (**self).put(into);
    }
}

impl<P: Part> Part for Option<P> {
    fn put(&self, into: &mut String) {
        if let Some(part) = self {
            part.put(into);
        }
    }
}

impl Ident {
    /// A name of at most 63 bytes that nothing has, with the number in it, or a later one, if it is cut or taken.
    pub(super) fn made(base: &str, suffix: &str, number: u32, is_taken: impl Fn(&str) -> bool) -> Self {
        let whole = [base, suffix].concat();
        if whole.len() <= 63 && !is_taken(&whole) {
            return Self(whole);
        }
        let numbered = |number: u32| {
            let end = ["_", &number.to_string(), suffix].concat();
            let cut = (0..=base.len()).rev().find(|&n| base.is_char_boundary(n) && n + end.len() <= 63);
            [&base[..cut.unwrap_or(0)], &end].concat()
        };
        Self((number..).map(numbered).find(|name| !is_taken(name)).unwrap_or_default())
    }

    pub(super) fn literal(&self) -> Literal {
        Literal(self.0.clone())
    }
}

impl Name {
    pub(super) fn new(schema: &str, name: &str) -> Self {
        Self { schema: Ident(schema.to_owned()), name: Ident(name.to_owned()) }
    }

    /// Another one in the same schema.
    pub(super) fn beside(&self, name: Ident) -> Self {
        Self { schema: self.schema.clone(), name }
    }

    /// As a string, which `regclass` and the like read.
    pub(super) fn literal(&self) -> Literal {
        Literal(sql!("{}", self).0)
    }
}

/// For people.
impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.schema.0 == "public" {
            f.write_str(&self.name.0)
        } else {
            write!(f, "{}.{}", self.schema.0, self.name.0)
        }
    }
}

impl Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_part() {
        let evil = "a\"\n\\! id\n'; DROP TABLE x; --\r\n{}$move$";
        let name = Name::new("public", evil);
        let made = sql!("TABLE {}; {}\nSELECT {};", name, Remark(evil.to_owned()), Literal(evil.to_owned()));
        let expected = "TABLE \"public\".\"a\"\"\n\\! id\n'; DROP TABLE x; --\r\n{}$move$\"; \
            -- a\" \\! id '; DROP TABLE x; --  {}$move$\n\
            SELECT E'a\"\n\\\\! id\n''; DROP TABLE x; --\r\n{}$move$';";
        assert_eq!(made.as_str(), expected);
        assert!(sql!("{}", Body(sql!("{}", name))).as_str().starts_with("E'\"public\".\"a\"\""));
    }

    #[test]
    fn psql_finds_no_variables() {
        for (before, after) in [
            ("a[1:\"USER\"] + b[x:y] :'z'", "a[1: \"USER\"] + b[x: y] : 'z'"),
            ("a::text ':x \"' \":y '\" 'it''s :z'", "a::text ':x \"' \":y '\" 'it''s :z'"),
            ("$move$ :x ' $y$ $move$ [:x] a$1 :b", "$move$ :x ' $y$ $move$ [: x] a$1 : b"),
            ("-- it's :x\n:x $1 '\\'", "-- it's :x\n: x $1 '\\'"),
        ] {
            assert_eq!(for_psql(before), after);
        }
    }

    #[test]
    fn names_are_cut_between_characters() {
        assert_eq!(Ident::made("orders", "_sno", 7, |_| false).0, "orders_sno");
        assert_eq!(Ident::made("orders", "_sno", 7, |name| name == "orders_sno").0, "orders_7_sno");
        let are_taken = |name: &str| ["orders_sno", "orders_7_sno"].contains(&name);
        assert_eq!(Ident::made("orders", "_sno", 7, are_taken).0, "orders_8_sno");
        let long = Ident::made(&"é".repeat(40), "_sno", 1234, |_| false).0;
        assert_eq!(long, format!("{}_1234_sno", "é".repeat(27)));
    }
}
