// Package database provides describe_database and query_database, which read the user's own SQLite
// and PostgreSQL databases ([databases.NAME]). The tools never change a database: SQLite opens the
// file read-only, and PostgreSQL runs a read-only transaction. The tools refuse statements that
// these modes would permit: a second statement, COPY, ATTACH, and functions with side effects.
// Results are untrusted text. Each call opens and closes its own connection, so no state passes
// from one query to the next.
package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/platform/host/denypaths"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// maxSQL is the maximum length of a statement in bytes.
const maxSQL = 20_000

// Deps are the dependencies of the tools.
type Deps struct {
	// Databases are the [databases.NAME] sections; if there are none, there are no tools.
	Databases []config.Database
	// Secret resolves a reference to a password.
	Secret func(ctx context.Context, ref string) (string, error)
	// Home is the user's home folder, and Own lists Hob's own files and folders. Database files in
	// protected paths (platform/host/denypaths) are refused.
	Home string
	Own  []string
}

// engine is an open connection to one database.
type engine interface {
	// listTables lists the tables and views, at most maxTables.
	listTables(ctx context.Context) (table, error)
	// describeColumns describes the columns of a table; the result has no rows if there is no such table.
	describeColumns(ctx context.Context, name string) (table, error)
	// runQuery runs one checked statement. It stops reading when out is full.
	runQuery(ctx context.Context, s statement, params []string, out *table) error
	closeConn(ctx context.Context)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	if len(d.Databases) == 0 {
		return nil
	}
	places := denypaths.New(denypaths.Options{Home: d.Home, Own: d.Own})
	return []tools.Tool{d.describeTool(places), d.queryTool(places)}
}

type describeIn struct {
	Database string `json:"database,omitempty"`
	Table    string `json:"table,omitempty" jsonschema:"empty: list all tables"`
}

type queryIn struct {
	Database string   `json:"database,omitempty"`
	SQL      string   `json:"sql" jsonschema:"one SELECT, WITH, VALUES or EXPLAIN; write ? (SQLite) or $1 (PostgreSQL) for values"`
	Params   []string `json:"params,omitempty" jsonschema:"the values, in order; numbers as text"`
}

func (d Deps) describeTool(places *denypaths.Places) tools.Tool {
	return tools.New(tools.Def[describeIn]{
		Spec: tools.Spec{
			Name: "describe_database", Category: "database", Effects: tools.Read, Timeout: d.longestTimeout(),
			Description: "List the tables of one of the user's databases, or the columns and keys of one table.",
			Keywords:    "sql database tables columns schema structure sqlite postgres postgresql describe",
		},
		Arguments: map[string]string{"database": d.databaseChoices()},
		Summary: func(in describeIn) string {
			if in.Table == "" {
				return "List the tables of the database " + textnorm.Ellipsize(in.Database, 60)
			}
			return fmt.Sprintf("Describe the table %.60q", in.Table)
		},
		Run: func(ctx context.Context, _ tools.Call, in describeIn) (tools.Result, error) {
			return d.describeDatabase(ctx, places, in)
		},
	})
}

func (d Deps) queryTool(places *denypaths.Places) tools.Tool {
	return tools.New(tools.Def[queryIn]{
		Spec: tools.Spec{
			Name: "query_database", Category: "database", Effects: tools.Read, Timeout: d.longestTimeout(),
			Description: "Query one of the user's databases with SQL and show the rows. It only reads. Call describe_database first.",
			Keywords:    "sql database query select rows count sum report table sqlite postgres postgresql look up records",
		},
		Arguments: map[string]string{"database": d.databaseChoices()},
		Summary:   func(in queryIn) string { return "Query a database: " + textnorm.Ellipsize(in.SQL, 200) },
		Run: func(ctx context.Context, _ tools.Call, in queryIn) (tools.Result, error) {
			return d.queryDatabase(ctx, places, in)
		},
	})
}

// databaseChoices describes the argument that selects a database.
func (d Deps) databaseChoices() string {
	var names []string
	for _, c := range d.Databases {
		names = append(names, c.Name+" ("+engineTitle(c)+")")
	}
	if len(names) == 1 {
		return "default " + names[0]
	}
	return "one of " + strings.Join(names, ", ")
}

func engineTitle(c config.Database) string {
	if c.IsPostgres() {
		return "PostgreSQL"
	}
	return "SQLite"
}

// longestTimeout returns the time limit of a call, which includes the connection.
func (d Deps) longestTimeout() time.Duration {
	var most time.Duration
	for _, c := range d.Databases {
		most = max(most, c.Timeout.Duration)
	}
	return most + 15*time.Second
}

// findDatabase returns the section called name. The empty name selects the only section.
func (d Deps) findDatabase(name string) (config.Database, error) {
	if name == "" && len(d.Databases) == 1 {
		return d.Databases[0], nil
	}
	i := slices.IndexFunc(d.Databases, func(c config.Database) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return config.Database{}, tools.Errorf(tools.InvalidArguments, "there is no database %q; use %s", tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(d.databaseChoices()))
	}
	return d.Databases[i], nil
}

// openEngine connects to the database. The caller closes the engine.
func (d Deps) openEngine(ctx context.Context, places *denypaths.Places, c config.Database) (engine, error) {
	if c.IsPostgres() {
		password := ""
		if c.Password != "" {
			var err error
			if password, err = d.Secret(ctx, c.Password); err != nil {
				return nil, tools.Errorf(tools.Failed, "the password of the database %s cannot be read: %w", tools.Clean(c.Name), tools.CleanErr(err))
			}
		}
		return openPostgres(ctx, c, password)
	}
	return openSQLite(ctx, c, places, d.Own)
}

func (d Deps) describeDatabase(ctx context.Context, places *denypaths.Places, in describeIn) (tools.Result, error) {
	c, err := d.findDatabase(in.Database)
	if err != nil {
		return tools.Result{}, err
	}
	ctx, stop := context.WithTimeout(ctx, c.Timeout.Duration)
	defer stop()
	e, err := d.openEngine(ctx, places, c)
	if err != nil {
		return tools.Result{}, withTimeout(err, ctx, c)
	}
	defer e.closeConn(ctx)
	var out table
	if strings.TrimSpace(in.Table) == "" {
		out, err = e.listTables(ctx)
	} else {
		out, err = e.describeColumns(ctx, strings.TrimSpace(in.Table))
	}
	switch {
	case err != nil:
		return tools.Result{}, withTimeout(err, ctx, c)
	case len(out.Rows) == 0 && in.Table != "":
		return tools.Result{}, tools.Errorf(tools.NotFound, "the database %s has no table %q that the database user may read; call describe_database without a table to list them", tools.Clean(c.Name), tools.Clean(textnorm.Ellipsize(in.Table, 80)))
	case len(out.Rows) == 0:
		return d.buildResult(c, "describe_database", out, "The database "+c.Name+" has no tables that the database user may read."), nil
	}
	return d.buildResult(c, "describe_database", out, ""), nil
}

func (d Deps) queryDatabase(ctx context.Context, places *denypaths.Places, in queryIn) (tools.Result, error) {
	c, err := d.findDatabase(in.Database)
	if err != nil {
		return tools.Result{}, err
	}
	s, err := parseStatement(in.SQL, c.IsPostgres())
	if err != nil {
		return tools.Result{}, err
	}
	ctx, stop := context.WithTimeout(ctx, c.Timeout.Duration)
	defer stop()
	e, err := d.openEngine(ctx, places, c)
	if err != nil {
		return tools.Result{}, withTimeout(err, ctx, c)
	}
	defer e.closeConn(ctx)
	out := table{maxRows: c.MaxRows, maxBytes: int(c.MaxBytes.Bytes)}
	if err := e.runQuery(ctx, s, in.Params, &out); err != nil {
		return tools.Result{}, withTimeout(err, ctx, c)
	}
	return d.buildResult(c, "query_database", out, "The query returned no rows."), nil
}

// buildResult builds the result of a call. empty is the text of a table without rows.
func (d Deps) buildResult(c config.Database, via string, out table, empty string) tools.Result {
	text := out.String()
	if len(out.Rows) == 0 {
		text = empty
	}
	return tools.Result{
		Text: text, Data: out, Source: provenance.Outside,
		Origins: []provenance.Origin{{Kind: "database", Label: c.Name, Via: via}},
	}
}

// withTimeout names the setting if the time limit of the section ended the call.
func withTimeout(err error, ctx context.Context, c config.Database) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || tools.CodeOf(err) == tools.TimedOut {
		return tools.Errorf(tools.TimedOut, "the database %s did not answer within %s; narrow the query, or raise databases.%s.timeout", tools.Clean(c.Name), c.Timeout.Duration, tools.Clean(c.Name))
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*tools.Error](err); ok {
		return err
	}
	return tools.Errorf(tools.Failed, "the database %s: %w", tools.Clean(c.Name), err)
}
