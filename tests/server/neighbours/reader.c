/*
 * A neighbour that reads, in each hook of the planner, all that PostgreSQL has handed to it so far, as any library may do:
 * every index, path and query. What is incomplete is an error or a crash. Preloaded before sno and after it, it sees the work
 * of sno in the same hook and in the next.
 */
#include "postgres.h"
#include "fmgr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

PG_MODULE_MAGIC;
void		_PG_init(void);

#define CHECK(is) do { if (!(is)) elog(ERROR, "incomplete: %s", #is); } while (0)

static volatile bool seen;
/* How often the two hooks were called that sno has, too. */
static int	tables, paths;

static void
read_index(RelOptInfo *rel, IndexOptInfo *index)
{
	int			expressions = 0;
	bool		real = get_rel_relkind(index->indexoid) == RELKIND_INDEX;

	CHECK(get_rel_name(index->indexoid) != NULL);
	/* 19 plans some joins with a copy of the table whose rows are made unique. */
	CHECK(index->rel == rel || (PG_VERSION_NUM >= 190000 && bms_equal(index->rel->relids, rel->relids)));
	CHECK(index->nkeycolumns > 0 && index->nkeycolumns <= index->ncolumns);
	CHECK(list_length(index->indextlist) == index->ncolumns);
	for (int i = 0; i < index->ncolumns; i++)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, index->indextlist, i);

		CHECK(OidIsValid(exprType((Node *) entry->expr)));
		seen = index->canreturn[i];
		expressions += index->indexkeys[i] == 0;
	}
	CHECK(list_length(index->indexprs) == expressions);
	for (int i = 0; i < index->nkeycolumns; i++)
	{
		CHECK(OidIsValid(index->opfamily[i]) && OidIsValid(index->opcintype[i]));
		CHECK(!OidIsValid(index->indexcollations[i]) || get_collation_name(index->indexcollations[i]));
		if (real && index->relam == BTREE_AM_OID)
		{
			CHECK(index->sortopfamily[i] == index->opfamily[i]);
			seen = index->reverse_sort[i] || index->nulls_first[i];
		}
	}
	CHECK(!real || index->amcostestimate != NULL);
	nodeToString(index);
}

static void
read_paths(List *paths)
{
	ListCell   *cell;

	foreach(cell, paths)
	{
		Path	   *path = lfirst(cell);
		ListCell   *key;

		CHECK(path->pathtarget != NULL && path->parent != NULL);
		foreach(key, path->pathkeys)
			CHECK(lfirst_node(PathKey, key)->pk_eclass->ec_members != NIL);
		if (IsA(path, IndexPath))
		{
			CHECK(list_member_ptr(path->parent->indexlist, ((IndexPath *) path)->indexinfo));
			read_index(path->parent, ((IndexPath *) path)->indexinfo);
		}
	}
	nodeToString(paths);
}

static void
read_conditions(PlannerInfo *root, List *conditions)
{
	ListCell   *cell;

	foreach(cell, conditions)
	{
		RestrictInfo *info = lfirst_node(RestrictInfo, cell);

		CHECK(is_orclause(info->clause) == (info->orclause != NULL));
		CHECK(bms_equal(info->clause_relids, pull_varnos(root, (Node *) info->clause)));
		CHECK(info->mergeopfamilies == NIL || (is_opclause(info->clause) &&
			  op_mergejoinable(((OpExpr *) info->clause)->opno, exprType(get_leftop(info->clause)))));
	}
}

/*
 * Whether the paths of the tables and joins have been handed on. From then on PostgreSQL frees those that a later step of the
 * planning does not keep (add_path), and leaves them in the lists that they came from.
 */
static bool
are_handed_on(PlannerInfo *root)
{
	for (int stage = 0; stage <= UPPERREL_FINAL; stage++)
		if (root->upper_rels[stage] != NIL)
			return true;
	return false;
}

static void
read_relation(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *cell;
	RelOptInfo	rest;

	if (rel == NULL)
		return;
	read_conditions(root, rel->baserestrictinfo);
	read_conditions(root, rel->joininfo);
	CHECK(rel->reltarget != NULL);
	foreach(cell, rel->indexlist)
		read_index(rel, lfirst_node(IndexOptInfo, cell));
	if (rel->reloptkind != RELOPT_UPPER_REL && are_handed_on(root))
		return;
	read_paths(rel->pathlist);
	read_paths(rel->partial_pathlist);
	rest = *rel;
	/* The planning of a subquery, which has handed on its own paths. */
	rest.subroot = NULL;
	nodeToString(&rest);
}

/* The predicates of the indexes of a table. */
static List *
predicates(RelOptInfo *rel)
{
	List	   *found = NIL;
	ListCell   *cell;

	foreach(cell, rel->indexlist)
		found = lappend(found, lfirst_node(IndexOptInfo, cell)->indpred);
	return found;
}

/* The query, and its tables: all, or the one that has this entry in the query or this index. */
static void
read_query(PlannerInfo *root, RangeTblEntry *entry, Oid index)
{
	ListCell   *cell;

	nodeToString(root->parse);
	nodeToString(root->processed_tlist);
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];
		bool		has_index = false;

		if (rel == NULL)
			continue;
		foreach(cell, rel->indexlist)
			has_index |= lfirst_node(IndexOptInfo, cell)->indexoid == index;
		if (has_index || root->simple_rte_array[i] == entry || (entry == NULL && index == InvalidOid))
			read_relation(root, rel);
	}
}

/* ORDER BY, as the parser would write it. */
static void
read_order(PlannerInfo *root)
{
	ListCell   *cell;

	foreach(cell, root->parse->sortClause)
	{
		SortGroupClause *sort = lfirst_node(SortGroupClause, cell);
		Node	   *expression = get_sortgroupclause_expr(sort, root->processed_tlist);

		CHECK(get_equality_op_for_ordering_op(sort->sortop, NULL) == sort->eqop);
		CHECK(!sort->hashable || op_hashjoinable(sort->eqop, exprType(expression)));
	}
}

static void
read_upper(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *output)
{
	if (stage == UPPERREL_FINAL)
	{
		read_query(root, NULL, InvalidOid);
		read_order(root);
	}
	read_relation(root, output);
}

/* A hook that reads, calls the next one, and reads again. */
#define HOOK(name, place, parameters, arguments, read) \
	static typeof(place) next_##name; \
	static void name parameters { read; if (next_##name) next_##name arguments; read; }
#define STATISTICS_HOOK(name, place, parameters, arguments, read) \
	static typeof(place) next_##name; \
	static bool name parameters { read; return next_##name && next_##name arguments; }

#if PG_VERSION_NUM >= 190000
#define table_hook build_simple_rel_hook
#define TABLE_PARAMETERS PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define TABLE_ARGUMENTS root, rel, rte
#else
#define table_hook get_relation_info_hook
#define TABLE_PARAMETERS PlannerInfo *root, Oid table, bool inh, RelOptInfo *rel
#define TABLE_ARGUMENTS root, table, inh, rel
#endif
/* An index may be a library's own, which keeps its description (hypopg), so others may replace what it has, but not change it. */
static typeof(table_hook) next_on_table;
static void
on_table(TABLE_PARAMETERS)
{
	List	   *before = predicates(rel);
	List	   *copy = copyObject(before);

	tables++;
	read_relation(root, rel);
	if (next_on_table)
		next_on_table(TABLE_ARGUMENTS);
	CHECK(equal(before, copy));
	read_relation(root, rel);
}

HOOK(on_paths, set_rel_pathlist_hook, (PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte),
	 (root, rel, rti, rte), (paths++, read_relation(root, rel)))
HOOK(on_join, set_join_pathlist_hook, (PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
	 JoinType type, JoinPathExtraData *extra), (root, joinrel, outer, inner, type, extra),
	 (read_relation(root, joinrel), read_relation(root, outer), read_relation(root, inner)))
HOOK(on_upper, create_upper_paths_hook, (PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
	 void *extra), (root, stage, input, output, extra), read_upper(root, stage, output))
STATISTICS_HOOK(on_column, get_relation_stats_hook, (PlannerInfo *root, RangeTblEntry *rte, AttrNumber column,
	 VariableStatData *found), (root, rte, column, found), read_query(root, rte, InvalidOid))
STATISTICS_HOOK(on_index, get_index_stats_hook, (PlannerInfo *root, Oid index, AttrNumber column,
	 VariableStatData *found), (root, index, column, found), read_query(root, NULL, index))

static planner_hook_type next_plan;

#if PG_VERSION_NUM >= 190000
#define PARAMETERS Query *query, const char *text, int options, ParamListInfo values, ExplainState *es
#define ARGUMENTS query, text, options, values, es
#else
#define PARAMETERS Query *query, const char *text, int options, ParamListInfo values
#define ARGUMENTS query, text, options, values
#endif
static PlannedStmt *
plan(PARAMETERS)
{
	PlannedStmt *found;

	nodeToString(query);
	found = next_plan ? next_plan(ARGUMENTS) : standard_planner(ARGUMENTS);
	nodeToString(found);
	return found;
}

#define INSTALL(name, place) (next_##name = place, place = name)

void
_PG_init(void)
{
	INSTALL(on_table, table_hook);
	INSTALL(on_paths, set_rel_pathlist_hook);
	INSTALL(on_join, set_join_pathlist_hook);
	INSTALL(on_upper, create_upper_paths_hook);
	INSTALL(on_column, get_relation_stats_hook);
	INSTALL(on_index, get_index_stats_hook);
	INSTALL(plan, planner_hook);
	DefineCustomIntVariable("reader.tables", "Calls for tables.", NULL, &tables, 0, 0, PG_INT32_MAX, PGC_INTERNAL, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("reader.paths", "Calls for paths.", NULL, &paths, 0, 0, PG_INT32_MAX, PGC_INTERNAL, 0, NULL, NULL, NULL);
}
