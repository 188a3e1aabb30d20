package openapigen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// packageDocs holds the doc comments for the types in one package.
type packageDocs struct {
	types  map[string]string   // doc comments by type
	fields map[string]string   // doc or line comments by "Type.Field"
	enums  map[string][]string // string constants by type, in source order
}

// parsePackage parses the source files of the package in dir, except for its tests.
func parsePackage(dir string) (*packageDocs, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list the sources in %s: %w", dir, err)
	}
	d := &packageDocs{types: map[string]string{}, fields: map[string]string{}, enums: map[string][]string{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				d.addDeclaration(g)
			}
		}
	}
	return d, nil
}

func (d *packageDocs) addDeclaration(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = g.Doc
			}
			d.types[s.Name.Name] = commentText(doc)
			if t, ok := s.Type.(*ast.StructType); ok {
				d.addFields(s.Name.Name, t)
			}
		case *ast.ValueSpec:
			d.addConstants(g, s)
		}
	}
}

// addFields records the comment of each field: the comment above the field, or else the one at the
// end of its line.
func (d *packageDocs) addFields(owner string, t *ast.StructType) {
	for _, f := range t.Fields.List {
		text := commentText(f.Doc)
		if text == "" {
			text = commentText(f.Comment)
		}
		for _, name := range f.Names {
			d.fields[owner+"."+name.Name] = text
		}
	}
}

// addConstants records string constants whose type is a named type of the package.
func (d *packageDocs) addConstants(g *ast.GenDecl, s *ast.ValueSpec) {
	t, ok := s.Type.(*ast.Ident)
	if g.Tok != token.CONST || !ok {
		return
	}
	for _, v := range s.Values {
		if lit, is := v.(*ast.BasicLit); is && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				d.enums[t.Name] = append(d.enums[t.Name], text)
			}
		}
	}
}

// commentText returns a comment as one paragraph.
func commentText(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// docsOf returns the comments in the package of this module with the given import path.
func (g *generator) docsOf(pkg string) (*packageDocs, error) {
	if d := g.docs[pkg]; d != nil {
		return d, nil
	}
	rest, ok := strings.CutPrefix(pkg, g.module+"/")
	if !ok {
		return &packageDocs{}, nil
	}
	d, err := parsePackage(filepath.Join(g.root, filepath.FromSlash(rest)))
	if err != nil {
		return nil, err
	}
	g.docs[pkg] = d
	return d, nil
}
