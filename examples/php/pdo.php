<?php
// PDO: IDs are strings.

function check(bool $fact, mixed $what = null): void
{
    if (!$fact) {
        throw new Exception(var_export($what, true));
    }
}

// The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
$pdo = new PDO('pgsql:');
foreach ([false, true] as $emulated) {
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, $emulated);
    $pdo->exec('DROP TABLE IF EXISTS events');
    $pdo->exec('CREATE TABLE events (id sno PRIMARY KEY DEFAULT sno_new(), payload text)');

    $insert = $pdo->prepare('INSERT INTO events (payload) VALUES (?) RETURNING id');
    $insert->execute(['first']);
    $id = $insert->fetchColumn();
    $select = $pdo->prepare('SELECT payload FROM events WHERE id = ?');
    $select->execute([$id]);

    check(preg_match('/^[2-9a-x]{16}$/D', $id) === 1, $id);
    check($select->fetchColumn() === 'first');
    // An array is a literal.
    $some = $pdo->prepare('SELECT id FROM events WHERE id = ANY(?)');
    $some->execute(['{' . implode(',', [$id, '2222222222222222']) . '}']);
    check($some->fetchAll(PDO::FETCH_COLUMN) === [$id]);
    // A kind's domain, and arrays of it.
    $pdo->exec('DROP TABLE IF EXISTS kinds; DROP DOMAIN IF EXISTS event_id');
    $pdo->exec('CREATE DOMAIN event_id AS sno CHECK (sno_metabyte(VALUE) = 0)');
    $pdo->exec('CREATE TABLE kinds (id event_id PRIMARY KEY, others event_id[], plain sno[])');
    $pdo->prepare('INSERT INTO kinds VALUES (?, ?, ?)')->execute([$id, "{{$id}}", "{{$id}}"]);
    $kinds = $pdo->prepare('SELECT * FROM kinds WHERE id = ?');
    $kinds->execute([$id]);
    check($kinds->fetch(PDO::FETCH_NUM) === [$id, "{{$id}}", "{{$id}}"]);
    $recent = $pdo->prepare('SELECT id FROM events WHERE id >= ?::timestamptz');
    $recent->execute([date(DATE_ATOM, time() - 3600)]);
    check($recent->fetchAll(PDO::FETCH_COLUMN) === [$id]);
    // IDs before the insert; a retry inserts once.
    $fetch = $pdo->prepare('SELECT sno_new() FROM generate_series(1, ?::integer)');
    $fetch->execute([3]);
    $ids = $fetch->fetchAll(PDO::FETCH_COLUMN);
    $retried = $pdo->prepare("INSERT INTO events VALUES (?, 'retried') ON CONFLICT (id) DO NOTHING");
    foreach ([...$ids, ...$ids] as $id) {
        $retried->execute([$id]);
    }
    $page = $pdo->prepare('SELECT id FROM events WHERE id < ? ORDER BY id DESC LIMIT 2');
    $page->execute([$ids[2]]);
    check($page->fetchAll(PDO::FETCH_COLUMN) === [$ids[1], $ids[0]]);
    try {
        $select->execute(['9Q7K4OP826N2G222']);
        check(false, 'an invalid ID was taken');
    } catch (PDOException $error) {
        check($error->getCode() === '22P02', $error);
    }
}
