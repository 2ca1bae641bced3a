//! Changes expressions as the server deparses them: names of columns, and casts that another type does not
//! have.

use std::collections::HashMap;

use super::sql::Expression;

/// The tokens of an expression: strings, names in quotes, words, and single characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => quoted(rest, first),
            c if c.is_alphanumeric() || c == '_' => {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// The length of what begins with this quote; one that is doubled does not end it.
fn quoted(text: &str, quote: char) -> usize {
    let mut end = 1;
    while let Some(at) = text[end..].find(quote) {
        end += at + 1;
        if !text[end..].starts_with(quote) {
            return end;
        }
        end += 1;
    }
    text.len()
}

const NO_COLUMN_AFTER: [&str; 7] = ["USING", "COLLATE", "time", "timestamp", "character", "bit", "interval"];

/// Other names for columns, which are given as they are written in it: no part of a string, no function,
/// type or schema.
pub(super) fn renamed(expression: &Expression, names: &HashMap<String, String>) -> Expression {
    let tokens = tokens(&expression.0);
    let mut text = String::new();
    for (n, token) in tokens.iter().enumerate() {
        let is_part = n > 0 && [".", ":"].contains(&tokens[n - 1])
            || tokens.get(n + 1).is_some_and(|after| [".", "("].contains(after));
        let mut before = tokens[..n].iter().rev().filter(|token| **token != " ");
        let (last, other) = (before.next().copied().unwrap_or_default(), before.next());
        // A word of a type, a method or a collation, or a field.
        let is_word = NO_COLUMN_AFTER.contains(&last)
            || last == "(" && other.is_some_and(|word| word.eq_ignore_ascii_case("extract"));
        text.push_str(names.get(*token).filter(|_| !is_part && !is_word).map_or(token, String::as_str));
    }
    Expression(text)
}

/// A function with another type in the place of old ones, whose names are given as the server writes them.
pub(super) fn retyped(definition: &Expression, old: &[String], new: &str) -> Expression {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = definition.0.clone();
    for name in old {
        let mut found = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(name.as_str()) {
            let (before, after) = (rest[..at].chars().next_back(), rest[at + name.len()..].chars().next());
            let before = before.or_else(|| found.chars().next_back());
            let is_one =
                !before.is_some_and(|c| is_word(c) || c == '.' || c == '"') && !after.is_some_and(is_word);
            found.push_str(&rest[..at]);
            found.push_str(if is_one { new } else { name });
            rest = &rest[at + name.len()..];
        }
        found.push_str(rest);
        text = found;
    }
    Expression(text)
}

/// Casts of columns that another type does not have.
#[derive(Default, Debug, Clone)]
pub(super) struct Casts {
    /// Columns of a domain, and its base type: PostgreSQL shows the cast for each use.
    pub(super) domains: Vec<(String, String)>,
    /// Columns of `varchar`, which are compared as texts.
    pub(super) varchars: Vec<String>,
    /// Columns of sno whose index has a cast to `uuid`.
    pub(super) uuids: Vec<String>,
}

impl Casts {
    /// The expression without them. Repeated until nothing changes, since `((a)::uuid)` can be inside.
    pub(super) fn removed(&self, expression: &Expression) -> Expression {
        let mut tokens: Vec<String> = tokens(&expression.0).into_iter().map(str::to_owned).collect();
        let mut n = 0;
        while n < tokens.len() {
            match self.cast_at(&tokens, n) {
                Some((name, end)) => drop(tokens.splice(n..end, name)),
                None => n += 1,
            }
        }
        Expression(tokens.concat())
    }

    /// A cast that begins here: the name in it, and where it ends.
    fn cast_at(&self, tokens: &[String], from: usize) -> Option<(Vec<String>, usize)> {
        let at = |n: usize| tokens.get(n).map_or("", String::as_str);
        let is =
            |from: usize, texts: &[&str]| texts.iter().enumerate().all(|(n, text)| at(from + n) == *text);
        // Not the parentheses of a function's arguments.
        let is_call = from > 0 && at(from - 1).ends_with(|c: char| c.is_alphanumeric() || "_\"".contains(c));
        let is_double = is(from, &["(", "("]);
        let open = from + usize::from(is_double);
        if at(open) != "(" || is_call {
            return None;
        }
        let mut last = open + 1;
        if at(last + 1) == "." {
            last += 2;
        }
        let name = at(last);
        if !is(last + 1, &[")", ":", ":"]) {
            return None;
        }
        let of = last + 4;
        let parts = || tokens[open + 1..=last].to_vec();
        if is_double {
            let known = self.uuids.iter().any(|column| column == name) && is(of, &["uuid", ")"]);
            return known.then(|| (parts(), of + 2));
        }
        for (column, base) in &self.domains {
            let base = self::tokens(base);
            if column == name && is(of, &base) {
                return Some((parts(), of + base.len()));
            }
        }
        let compares = |operator: &str| ["=", "<", ">"].contains(&operator);
        let after = at(of + 1) == " " && (compares(at(of + 2)) || ["IN", "NOT"].contains(&at(of + 2)));
        let before = from >= 2 && at(from - 1) == " " && compares(at(from - 2));
        let known =
            self.varchars.iter().any(|column| column == name) && at(of) == "text" && (before || after);
        known.then(|| (parts(), of + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_renamed_and_nothing_else() {
        let names = [("id", "NEW.sno"), ("\"Order\"", "NEW.x")];
        let names: HashMap<_, _> = names.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        for (before, after) in [
            ("'id' || (id)::text", "'id' || (NEW.sno)::text"),
            ("id.id(id, t.id) + \"Order\" + \"id\"", "id.id(NEW.sno, t.id) + NEW.x + \"id\""),
            ("USING id (id, extract(id FROM id))", "USING id (NEW.sno, extract(id FROM NEW.sno))"),
            ("a::character id || x COLLATE \"Order\"", "a::character id || x COLLATE \"Order\""),
            ("'it''s id' || idx || 1::id", "'it''s id' || idx || 1::id"),
        ] {
            assert_eq!(renamed(&Expression(before.to_owned()), &names).0, after);
        }
    }

    #[test]
    fn a_function_gets_another_type() {
        let body = Expression("f(bigint, a.bigint, bigints, x::bigint) 'bigint'".to_owned());
        let new = retyped(&body, &["bigint".to_owned()], "public.sno");
        assert_eq!(new.0, "f(public.sno, a.bigint, bigints, x::public.sno) 'public.sno'");
    }

    #[test]
    fn casts_of_domains_of_varchar_and_in_indexes_go() {
        let casts = Casts {
            domains: vec![("\"key no\"".to_owned(), "bigint".to_owned())],
            varchars: vec!["id".to_owned(), "code".to_owned()],
            uuids: vec!["order_id".to_owned()],
        };
        for (before, after) in [
            ("((b.\"key no\")::bigint = (a.\"key no\")::bigint)", "(b.\"key no\" = a.\"key no\")"),
            ("((s.id)::text = (i.code)::text)", "(s.id = i.code)"),
            ("(other)::text = 'x' || (id)::text", "(other)::text = 'x' || (id)::text"),
            ("USING gist (((order_id)::uuid), during)", "USING gist (order_id, during)"),
            ("f((order_id)::uuid) || g(id)::text = 'x'", "f((order_id)::uuid) || g(id)::text = 'x'"),
        ] {
            assert_eq!(casts.removed(&Expression(before.to_owned())).0, after);
        }
    }
}
