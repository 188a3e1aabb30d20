package app

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hob/platform/store"
	"hob/platform/store/storetest"
)

// PostgreSQL compiles each statement in the code that SQLite compiles. A statement that the code puts
// together from variables is left to the tests that run it.
func TestStatements_CompileOnPostgreSQL(t *testing.T) {
	server := storetest.NewServer(t)
	open := func(opt store.Options) store.Querier {
		st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), Migrations(), opt)
		failOnError(t, err)
		t.Cleanup(func() { failOnError(t, st.Close()) })
		return st.Reader(context.WithoutCancel(t.Context()))
	}
	file, shared := open(store.Options{}), open(store.Options{URL: server.URL("postgres")})
	n := 0
	for query, place := range findStatements(t, filepath.Join("..", "..", "..", "..")) {
		args := make([]any, strings.Count(query, "?"))
		if compileStatement(file, query, args) != nil {
			continue // it is about other tables
		}
		n++
		if err := compileWithNumber(shared, query, args); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
	if n < 600 {
		t.Errorf("%d statements, want at least 600", n)
	}
}

// compileWithNumber compiles a statement with parameters of any type. If that fails, one of them may have to be a
// number, or all.
func compileWithNumber(q store.Querier, query string, args []any) error {
	err := compileStatement(q, query, args)
	for i := range args {
		if err == nil {
			return nil
		}
		args[i] = int64(1)
		if compileStatement(q, query, args) == nil {
			return nil
		}
		args[i] = nil
	}
	for i := range args {
		args[i] = int64(1)
	}
	if err != nil && compileStatement(q, query, args) == nil {
		return nil
	}
	return err
}

// compileStatement compiles a statement without running it.
func compileStatement(q store.Querier, query string, args []any) error {
	rows, err := q.Query("EXPLAIN "+query, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// findStatements returns the constant statements below a folder with their places.
func findStatements(t *testing.T, root string) map[string]token.Position {
	t.Helper()
	statement := regexp.MustCompile(`(?s)^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\s`)
	onlyFile := regexp.MustCompile(`\bpragma_|\bsqlite_(master|schema)\b`)
	out, files, packages := map[string]token.Position{}, token.NewFileSet(), map[string]*constants{}
	failOnError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse %s: %w", path, err)
		}
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = &constants{values: map[string]ast.Expr{}}
		}
		packages[dir].addFile(f)
		return nil
	}))
	for _, k := range packages {
		for _, f := range k.files {
			ast.Inspect(f, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, ok := k.foldText(e)
				if ok && statement.MatchString(text) && !onlyFile.MatchString(text) {
					out[text] = files.Position(e.Pos())
				}
				return !ok
			})
		}
	}
	return out
}

// constants are the constants of a package.
type constants struct {
	files  []*ast.File
	values map[string]ast.Expr
}

func (k *constants) addFile(f *ast.File) {
	k.files = append(k.files, f)
	ast.Inspect(f, func(n ast.Node) bool {
		d, ok := n.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			return true
		}
		for _, s := range d.Specs {
			v := s.(*ast.ValueSpec)
			for i := range v.Values {
				k.values[v.Names[i].Name] = v.Values[i]
			}
		}
		return false
	})
}

// foldText returns the value of a constant text.
func (k *constants) foldText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return k.foldText(e.X)
	case *ast.BinaryExpr:
		x, xok := k.foldText(e.X)
		y, yok := k.foldText(e.Y)
		return x + y, xok && yok && e.Op == token.ADD
	case *ast.Ident:
		if v := k.values[e.Name]; v != nil {
			return k.foldText(v)
		}
	}
	return "", false
}
