//! Connects as psql does: by libpq's variables, services and the file of passwords.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use postgres::config::SslMode;
use postgres::{Client, Config, NoTls};

use super::Failure;

/// What libpq calls these, and the variables with their values.
const VARIABLES: [(&str, &str); 8] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("dbname", "PGDATABASE"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("options", "PGOPTIONS"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
];

/// What libpq would refuse to connect without, and this program does not have: their names, their variables.
const PROMISES: [(&str, &str); 7] = [
    ("sslmode", "PGSSLMODE"),
    ("requiressl", "PGREQUIRESSL"),
    ("sslnegotiation", "PGSSLNEGOTIATION"),
    ("gssencmode", "PGGSSENCMODE"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("require_auth", "PGREQUIREAUTH"),
    ("requirepeer", "PGREQUIREPEER"),
];

/// Whether this value of one of them asks for more than a plain connection gives.
fn is_demand(key: &str, value: &str) -> bool {
    match key {
        "sslmode" => !["disable", "allow", "prefer"].contains(&value),
        "requiressl" => value == "1",
        "sslnegotiation" => value == "direct",
        "gssencmode" | "channel_binding" => value == "require",
        _ => !value.is_empty(),
    }
}

fn not_encrypted(key: &str, value: &str) -> Failure {
    let hint = "HINT: Run it on the server's machine or through an SSH tunnel, with sslmode=disable; or write the steps \
                there, and run them by psql.";
    Failure::new(&format!("sno move connects without TLS, but {key}={value} is set")).and(hint.to_owned())
}

/// Fails if something asks for an encrypted connection: the string, if it says so, else the service, else the
/// environment.
fn refuse_promises(said: &str, settings: &BTreeMap<String, String>) -> Result<(), Failure> {
    for (key, variable) in PROMISES {
        let in_string = said.split(['?', '&', ' ', '\n', '\t']).find_map(|word| {
            let (found, value) = word.split_once('=')?;
            (found == key).then(|| value.trim_matches('\'').to_owned())
        });
        let value = in_string.or_else(|| settings.get(key).cloned()).or_else(|| env::var(variable).ok());
        if let Some(value) = value.filter(|value| is_demand(key, value)) {
            return Err(not_encrypted(key, &value));
        }
    }
    Ok(())
}

/// The settings of a connection: those of the string, then of its service, then of the environment.
pub(super) fn config(said: Option<&str>) -> Result<Config, Failure> {
    let string = said.filter(|text| text.contains('=') || text.contains("://"));
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    settings.extend(said.filter(|_| string.is_none()).map(|name| ("dbname".to_owned(), name.to_owned())));
    if let Ok(service) = env::var("PGSERVICE") {
        for (key, value) in self::service(&service)? {
            settings.entry(key).or_insert(value);
        }
    }
    let string = string.unwrap_or_default();
    refuse_promises(string, &settings)?;
    let plain: Config = string.parse()?;
    // However the string was written.
    if plain.get_ssl_mode() == SslMode::Require {
        return Err(not_encrypted("sslmode", "require"));
    }
    let mut whole = string.to_owned();
    for (key, variable) in VARIABLES.into_iter().filter(|(key, _)| !is_set(&plain, key)) {
        let value = settings.remove(key).or_else(|| env::var(variable).ok()).or_else(|| default(key));
        for value in value.iter().flat_map(|text| text.split(if key == "host" { ',' } else { '\0' })) {
            whole += &more(&whole, key, value);
        }
    }
    let mut config: Config = whole.parse()?;
    config.application_name("sno move");
    if config.get_password().is_none()
        && let Some(password) = password(&config)
    {
        config.password(password);
    }
    Ok(config)
}

/// What goes behind a string of either form to add a setting.
fn more(string: &str, key: &str, value: &str) -> String {
    if !["postgres://", "postgresql://"].iter().any(|prefix| string.starts_with(prefix)) {
        return format!(" {key}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    }
    let value: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!(
        "{}{key}={value}",
        if string.rsplit('@').next().is_some_and(|rest| rest.contains('?')) { '&' } else { '?' }
    )
}

/// Debian's folder of sockets, or that of PostgreSQL; the user of the system.
fn default(key: &str) -> Option<String> {
    match key {
        "host" => {
            let folder =
                ["/var/run/postgresql", "/tmp"].into_iter().find(|folder| Path::new(folder).exists());
            Some(folder.unwrap_or("/tmp").to_owned())
        }
        "user" => env::var("USER").ok(),
        _ => None,
    }
}

fn is_set(config: &Config, key: &str) -> bool {
    match key {
        "host" | "hostaddr" => !config.get_hosts().is_empty() || !config.get_hostaddrs().is_empty(),
        "port" => !config.get_ports().is_empty(),
        "dbname" => config.get_dbname().is_some(),
        "user" => config.get_user().is_some(),
        "password" => config.get_password().is_some(),
        "options" => config.get_options().is_some(),
        _ => config.get_connect_timeout().is_some(),
    }
}

/// A section of the file of services.
fn service(name: &str) -> Result<Vec<(String, String)>, Failure> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".pg_service.conf"));
    let file = env::var_os("PGSERVICEFILE").map(PathBuf::from).or(home).unwrap_or_default();
    let text =
        fs::read_to_string(&file).map_err(|error| Failure::new(&format!("{}: {error}", file.display())))?;
    let head = format!("[{name}]");
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != head);
    lines.next().ok_or_else(|| Failure::new(&format!("service \"{name}\" is not in {}", file.display())))?;
    let lines = lines.take_while(|line| !line.starts_with('['));
    let pair = |line: &str| {
        line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
    };
    Ok(lines.filter(|line| !line.starts_with('#')).filter_map(pair).collect())
}

/// The password of the file that libpq reads.
fn password(config: &Config) -> Option<String> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let text = fs::read_to_string(env::var_os("PGPASSFILE").map(PathBuf::from).or(home)?).ok()?;
    let host = config.get_hosts().iter().find_map(|host| match host {
        postgres::config::Host::Tcp(name) => Some(name.clone()),
        #[cfg(unix)]
        postgres::config::Host::Unix(_) => None,
    });
    let port = config.get_ports().first().map_or("5432".to_owned(), u16::to_string);
    let user = config.get_user().unwrap_or_default().to_owned();
    let name = config.get_dbname().unwrap_or(&user).to_owned();
    let wanted = [host.unwrap_or_else(|| "localhost".to_owned()), port, name, user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = pgpass_fields(line);
        let fits = |(field, wanted): (&String, &String)| field == "*" || field == wanted;
        (fields.len() == 5 && fields.iter().zip(&wanted).all(fits)).then(|| fields[4].clone())
    })
}

/// The fields of a line, in which `\` protects a character.
fn pgpass_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().expect("there is one").extend(characters.next()),
            other => fields.last_mut().expect("there is one").push(other),
        }
    }
    fields
}

pub(super) fn connect(config: &Config) -> Result<Client, Failure> {
    config.connect(NoTls).map_err(Failure::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_tls_is_refused() {
        let none = BTreeMap::new();
        let service = BTreeMap::from([("sslmode".to_owned(), "verify-full".to_owned())]);
        let refused =
            |said: &str, settings| refuse_promises(said, settings).err().map(|failure| failure.to_string());
        assert_eq!(refused("host=a sslmode=prefer", &none), None);
        assert_eq!(refused("host=a sslmode=disable", &service), None);
        for (said, settings, why) in [
            ("host=a sslmode=require", &none, "sslmode=require"),
            ("postgresql://a/b?x=y&sslmode=verify-full", &none, "sslmode=verify-full"),
            ("channel_binding='require'", &none, "channel_binding=require"),
            ("requirepeer=postgres", &none, "requirepeer=postgres"),
            ("host=a", &service, "sslmode=verify-full"),
        ] {
            assert!(refused(said, settings).is_some_and(|text| text.contains(why)), "{said}");
        }
        let text = "host=a sslmode = require";
        assert!(
            config(Some(text)).is_err_and(|failure| failure.to_string().contains("sslmode=require is set"))
        );
    }

    #[test]
    fn passwords_can_have_colons() {
        assert_eq!(pgpass_fields(r"h:5432:*:a\:b:p:\\w"), ["h", "5432", "*", "a:b", r"p:\w"]);
    }
}
