package wording

import (
	"fmt"
	"io"
	"reflect"
	"text/template/parse"
)

// maxDepth bounds texts that hold each other.
const maxDepth = 100

// filling is one run over a text.
type filling struct {
	t     *Template
	w     io.Writer
	vars  []variable
	depth int
}

type variable struct {
	name  string
	value reflect.Value
}

func (f *filling) define(name string, dot reflect.Value) {
	tree := f.t.trees[name]
	if tree == nil {
		fail("no template %q", name)
	}
	if f.depth++; f.depth > maxDepth {
		fail("templates include each other recursively")
	}
	outer := f.vars
	f.vars = []variable{{"$", dot}}
	f.node(tree.Root, dot)
	f.vars = outer
	f.depth--
}

func (f *filling) node(n parse.Node, dot reflect.Value) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, x := range n.Nodes {
			f.node(x, dot)
		}
	case *parse.TextNode:
		f.write(n.Text)
	case *parse.ActionNode:
		v := f.pipe(n.Pipe, dot)
		if len(n.Pipe.Decl) == 0 {
			f.print(v)
		}
	case *parse.IfNode:
		f.choose(n.Pipe, n.List, n.ElseList, dot, false)
	case *parse.WithNode:
		f.choose(n.Pipe, n.List, n.ElseList, dot, true)
	case *parse.RangeNode:
		f.each(n, dot)
	case *parse.TemplateNode:
		var v reflect.Value
		if n.Pipe != nil {
			v = f.pipe(n.Pipe, dot)
		}
		f.define(n.Name, v)
	case *parse.CommentNode:
	default:
		fail("%s is not supported", n)
	}
}

func (f *filling) write(text []byte) {
	if _, err := f.w.Write(text); err != nil {
		panic(stopped{err})
	}
}

func (f *filling) choose(p *parse.PipeNode, yes, no *parse.ListNode, dot reflect.Value, with bool) {
	vars := len(f.vars)
	v := f.pipe(p, dot)
	switch {
	case truth(v) && with:
		f.node(yes, v)
	case truth(v):
		f.node(yes, dot)
	case no != nil:
		f.node(no, dot)
	}
	f.vars = f.vars[:vars]
}

func (f *filling) each(n *parse.RangeNode, dot reflect.Value) {
	vars := len(f.vars)
	defer func() { f.vars = f.vars[:vars] }()
	v := plain(f.values(n.Pipe, dot))
	one := func(i, x reflect.Value) {
		inner := len(f.vars)
		switch d := n.Pipe.Decl; len(d) {
		case 1:
			f.vars = append(f.vars, variable{d[0].Ident[0], x})
		case 2:
			f.vars = append(f.vars, variable{d[0].Ident[0], i}, variable{d[1].Ident[0], x})
		}
		f.node(n.List, x)
		f.vars = f.vars[:inner]
	}
	if !v.IsValid() || v.Kind() == reflect.Slice && v.Len() == 0 {
		if n.ElseList != nil {
			f.node(n.ElseList, dot)
		}
		return
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			one(reflect.ValueOf(i), v.Index(i))
		}
	default:
		fail("cannot range over %s: it is a %s", n.Pipe, v.Type())
	}
}

// pipe evaluates a pipeline and assigns its value to the declared variables.
func (f *filling) pipe(p *parse.PipeNode, dot reflect.Value) reflect.Value {
	v := f.values(p, dot)
	for _, d := range p.Decl {
		if !p.IsAssign {
			f.vars = append(f.vars, variable{d.Ident[0], v})
			continue
		}
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].name == d.Ident[0] {
				f.vars[i].value = v
				break
			}
		}
	}
	return v
}

func (f *filling) values(p *parse.PipeNode, dot reflect.Value) (v reflect.Value) {
	for i, c := range p.Cmds {
		v = f.command(c, dot, v, i > 0)
	}
	return v
}

// command evaluates one command; last is the value of the previous command of the
// pipeline.
func (f *filling) command(c *parse.CommandNode, dot, last reflect.Value, piped bool) reflect.Value {
	rest := c.Args[1:]
	args := func() []reflect.Value {
		var out []reflect.Value
		for _, a := range rest {
			out = append(out, f.operand(a, dot))
		}
		if piped {
			out = append(out, last)
		}
		return out
	}
	name, builtin := c.Args[0].(*parse.IdentifierNode)
	if builtin {
		switch name.Ident {
		case "and", "or": // the first operand that decides
			var v reflect.Value
			for _, a := range rest {
				if v = f.operand(a, dot); truth(v) == (name.Ident == "or") {
					return v
				}
			}
			return v
		}
		return f.call(name.Ident, args())
	}
	v := f.operand(c.Args[0], dot)
	if fn := plain(v); fn.IsValid() && fn.Kind() == reflect.Func {
		return invoke(c.Args[0].String(), fn, args())
	}
	if len(rest) > 0 || piped {
		fail("%s takes no arguments", c.Args[0])
	}
	return v
}

func (f *filling) operand(n parse.Node, dot reflect.Value) reflect.Value {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.ChainNode:
		return fields(f.operand(n.Node, dot), n.Field)
	case *parse.VariableNode:
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].name == n.Ident[0] {
				return fields(f.vars[i].value, n.Ident[1:])
			}
		}
		fail("no variable %s", n.Ident[0])
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.BoolNode:
		return reflect.ValueOf(n.True)
	case *parse.NumberNode:
		if n.IsInt {
			return reflect.ValueOf(int(n.Int64))
		}
		return reflect.ValueOf(n.Float64)
	case *parse.PipeNode:
		return f.values(n, dot)
	case *parse.IdentifierNode:
		return f.call(n.Ident, nil)
	}
	fail("%s is not supported", n)
	return reflect.Value{}
}

// fields follows a chain of field names and map keys from a value.
func fields(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		at := plain(v)
		switch {
		case !at.IsValid():
			fail("cannot read field .%s of nil", name)
		case at.Kind() == reflect.Map:
			v = at.MapIndex(reflect.ValueOf(name))
		case at.Kind() == reflect.Struct:
			field, ok := at.Type().FieldByName(name)
			if !ok || !field.IsExported() {
				fail("%s has no field %s", at.Type(), name)
			}
			v = at.FieldByIndex(field.Index)
		default:
			fail("%s has no fields: .%s", at.Type(), name)
		}
	}
	return v
}

// plain returns a value without its interfaces and pointers; invalid for nil.
func plain(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		v = v.Elem()
	}
	return v
}

// truth reports whether a value is neither zero nor empty. A struct is always
// true.
func truth(v reflect.Value) bool {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return false
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

func (f *filling) print(v reflect.Value) {
	if p := plain(v); v.IsValid() && v.Kind() == reflect.Interface && !p.IsValid() || !v.IsValid() {
		f.write([]byte("<no value>"))
		return
	}
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		if _, words := v.Interface().(fmt.Stringer); !words {
			v = v.Elem()
		}
	}
	if _, err := fmt.Fprint(f.w, v.Interface()); err != nil {
		panic(stopped{err})
	}
}
