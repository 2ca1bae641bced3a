<?php
// Doctrine: a type of a column, and a generator that asks the server for an ID before the insert.

require_once 'Doctrine/ORM/autoload.php';

use Doctrine\Common\Collections\ArrayCollection;
use Doctrine\Common\Collections\Collection;
use Doctrine\DBAL\Platforms\AbstractPlatform;
use Doctrine\DBAL\Types\StringType;
use Doctrine\DBAL\Types\Type;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\AbstractIdGenerator;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\ORMSetup;
use Doctrine\ORM\Tools\SchemaTool;

function check(bool $fact, mixed $what = null): void
{
    if (!$fact) {
        throw new Exception(var_export($what, true));
    }
}

class SnoType extends StringType
{
    public function getSQLDeclaration(array $column, AbstractPlatform $platform): string
    {
        return 'sno';
    }

    public function getName(): string
    {
        return 'sno';
    }

    public function requiresSQLCommentHint(AbstractPlatform $platform): bool
    {
        return true;
    }
}

class SnoGenerator extends AbstractIdGenerator
{
    public function generateId(EntityManagerInterface $manager, $entity): string
    {
        return $manager->getConnection()->fetchOne('SELECT sno_new()');
    }
}

#[ORM\Entity, ORM\Table('orders')]
class Purchase
{
    #[ORM\Id, ORM\Column(type: 'sno'), ORM\GeneratedValue('CUSTOM'), ORM\CustomIdGenerator(class: SnoGenerator::class)]
    public string $id;

    #[ORM\OneToMany(targetEntity: Line::class, mappedBy: 'order', cascade: ['persist']), ORM\OrderBy(['id' => 'ASC'])]
    public Collection $lines;

    public function __construct(#[ORM\Column] public string $customer)
    {
        $this->lines = new ArrayCollection();
    }
}

#[ORM\Entity, ORM\Table('lines')]
class Line
{
    #[ORM\Id, ORM\Column(type: 'sno'), ORM\GeneratedValue('CUSTOM'), ORM\CustomIdGenerator(class: SnoGenerator::class)]
    public string $id;

    public function __construct(
        #[ORM\ManyToOne(inversedBy: 'lines')] public Purchase $order,
        #[ORM\Column] public string $item,
    ) {
        $order->lines->add($this);
    }
}

Type::addType('sno', SnoType::class);
$manager = EntityManager::create([
    'driver' => 'pdo_pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'dbname' => getenv('PGDATABASE'),
    'user' => getenv('PGUSER'), 'password' => getenv('PGPASSWORD'),
], ORMSetup::createAttributeMetadataConfiguration([], true));
$manager->getConnection()->getDatabasePlatform()->registerDoctrineTypeMapping('sno', 'sno');

$entities = $manager->getMetadataFactory();
$tables = [$entities->getMetadataFor(Purchase::class), $entities->getMetadataFor(Line::class)];
$tool = new SchemaTool($manager);
$tool->createSchema($tables);
check($tool->getUpdateSchemaSql($tables) === [], $tool->getUpdateSchemaSql($tables));

$orders = [];
foreach (['ann', 'bob', 'eve'] as $customer) {
    $orders[] = $order = new Purchase($customer);
    new Line($order, 'desk');
    new Line($order, 'chair');
    $manager->persist($order);
}
$manager->flush();
$key = $last = $orders[0]->id;
$manager->clear();

$found = $manager->find(Purchase::class, $key);
$recent = $manager->getConnection()->fetchFirstColumn('SELECT id FROM orders WHERE id >= sno_lower(?)', [date(DATE_ATOM, time() - 3600)]);
$page = $manager->createQuery('SELECT o FROM Purchase o WHERE o.id > :last ORDER BY o.id')->setMaxResults(50)->execute(['last' => $last]);

check(preg_match('/^[2-9a-x]{16}$/D', $key) === 1, $key);
check($found->customer === 'ann' && count($found->lines) === 2 && $found->lines[0]->item === 'desk');
check(count($recent) === 3, $recent);
check(array_column($page, 'customer') === ['bob', 'eve'], $page);
