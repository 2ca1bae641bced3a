<?php
// Laravel's Eloquent: a model, a migration, a page, a range of time.

require_once 'Illuminate/Database/autoload.php';

use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\Eloquent\ModelNotFoundException;
use Illuminate\Database\Schema\Grammars\PostgresGrammar;

function check(bool $fact, mixed $what = null): void
{
    if (!$fact) {
        throw new Exception(var_export($what, true));
    }
}

class Event extends Model
{
    // Otherwise Laravel makes the number 9 of 9q7k4op826n2g222. $incrementing stays true: the ID is read back.
    protected $keyType = 'string';
    public $timestamps = false;
    protected $guarded = [];

    // A text that is not an ID is not found. It has to be checked: the server would refuse it with 22P02.
    public function resolveRouteBinding($value, $field = null)
    {
        return preg_match('/^[2-9a-x]{16}$/D', $value) === 1 ? parent::resolveRouteBinding($value, $field) : null;
    }
}

$manager = new Manager();
$manager->addConnection([
    'driver' => 'pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'database' => getenv('PGDATABASE'),
    'username' => getenv('PGUSER'), 'password' => getenv('PGPASSWORD'), 'charset' => 'utf8',
]);
$manager->setAsGlobal();
$manager->bootEloquent();

// In Laravel, in the method boot of a service provider.
PostgresGrammar::macro('typeSno', fn () => 'sno');

Manager::schema()->create('events', function ($table) {
    $table->addColumn('sno', 'id')->primary()->default(Manager::raw('sno_new()'));
    $table->text('payload');
});

$first = Event::create(['payload' => 'first']);
$key = $last = $first->id;
Event::create(['payload' => 'second']);

$event = Event::create(['payload' => 'third']);
$found = Event::findOrFail($key);
$recent = Event::whereRaw('id >= ?::timestamptz', [date(DATE_ATOM, time() - 3600)])->orderBy('id')->get();
$page = Event::where('id', '>', $last)->orderBy('id')->limit(50)->get();

check(preg_match('/^[2-9a-x]{16}$/D', $event->id) === 1, $event->id);
check($found->is($first) && $found->id === $first->id, $found);
check($recent->count() === 3, $recent);
check($page->pluck('payload')->all() === ['second', 'third'], $page);
check(Event::whereIn('id', [$key])->count() === 1);
$event->update(['payload' => 'changed']);
check($event->fresh()->payload === 'changed');
check((new Event())->resolveRouteBinding($key)->is($first));
foreach (['garbage', strtoupper($key), "$key\n"] as $wrong) {
    check((new Event())->resolveRouteBinding($wrong) === null, $wrong);
}
try {
    Event::findOrFail('xxxxxxxxxxxxxxxx');
    check(false);
} catch (ModelNotFoundException) {
}
