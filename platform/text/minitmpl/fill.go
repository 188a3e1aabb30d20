package minitmpl

import (
	"fmt"
	"io"
	"reflect"
	"text/template/parse"
)

// maxDepth is the maximum depth of templates that include each other.
const maxDepth = 100

// execution is the state of one execution of a template.
type execution struct {
	t     *Template
	w     io.Writer
	vars  []variable
	depth int
}

type variable struct {
	name  string
	value reflect.Value
}

func (f *execution) runTemplate(name string, dot reflect.Value) {
	tree := f.t.trees[name]
	if tree == nil {
		failExecution("no template %q", name)
	}
	if f.depth++; f.depth > maxDepth {
		failExecution("templates include each other recursively")
	}
	outer := f.vars
	f.vars = []variable{{"$", dot}}
	f.execNode(tree.Root, dot)
	f.vars = outer
	f.depth--
}

func (f *execution) execNode(n parse.Node, dot reflect.Value) {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, x := range n.Nodes {
			f.execNode(x, dot)
		}
	case *parse.TextNode:
		f.writeBytes(n.Text)
	case *parse.ActionNode:
		v := f.evalPipe(n.Pipe, dot)
		if len(n.Pipe.Decl) == 0 {
			f.printValue(v)
		}
	case *parse.IfNode:
		f.execIfWith(n.Pipe, n.List, n.ElseList, dot, false)
	case *parse.WithNode:
		f.execIfWith(n.Pipe, n.List, n.ElseList, dot, true)
	case *parse.RangeNode:
		f.execRange(n, dot)
	case *parse.TemplateNode:
		var v reflect.Value
		if n.Pipe != nil {
			v = f.evalPipe(n.Pipe, dot)
		}
		f.runTemplate(n.Name, v)
	case *parse.CommentNode:
	default:
		failExecution("%s is not supported", n)
	}
}

func (f *execution) writeBytes(text []byte) {
	if _, err := f.w.Write(text); err != nil {
		panic(executionError{err})
	}
}

func (f *execution) execIfWith(p *parse.PipeNode, yes, no *parse.ListNode, dot reflect.Value, with bool) {
	vars := len(f.vars)
	v := f.evalPipe(p, dot)
	switch {
	case isTruthy(v) && with:
		f.execNode(yes, v)
	case isTruthy(v):
		f.execNode(yes, dot)
	case no != nil:
		f.execNode(no, dot)
	}
	f.vars = f.vars[:vars]
}

func (f *execution) execRange(n *parse.RangeNode, dot reflect.Value) {
	vars := len(f.vars)
	defer func() { f.vars = f.vars[:vars] }()
	v := dereferenceValue(f.evalCommands(n.Pipe, dot))
	one := func(i, x reflect.Value) {
		inner := len(f.vars)
		switch d := n.Pipe.Decl; len(d) {
		case 1:
			f.vars = append(f.vars, variable{d[0].Ident[0], x})
		case 2:
			f.vars = append(f.vars, variable{d[0].Ident[0], i}, variable{d[1].Ident[0], x})
		}
		f.execNode(n.List, x)
		f.vars = f.vars[:inner]
	}
	if !v.IsValid() || v.Kind() == reflect.Slice && v.Len() == 0 {
		if n.ElseList != nil {
			f.execNode(n.ElseList, dot)
		}
		return
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			one(reflect.ValueOf(i), v.Index(i))
		}
	default:
		failExecution("cannot range over %s: it is a %s", n.Pipe, v.Type())
	}
}

// evalPipe evaluates a pipeline and assigns its value to the variables that it declares.
func (f *execution) evalPipe(p *parse.PipeNode, dot reflect.Value) reflect.Value {
	v := f.evalCommands(p, dot)
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

func (f *execution) evalCommands(p *parse.PipeNode, dot reflect.Value) (v reflect.Value) {
	for i, c := range p.Cmds {
		v = f.evalCommand(c, dot, v, i > 0)
	}
	return v
}

// evalCommand evaluates one command. last is the value of the previous command in the pipeline.
func (f *execution) evalCommand(c *parse.CommandNode, dot, last reflect.Value, piped bool) reflect.Value {
	rest := c.Args[1:]
	args := func() []reflect.Value {
		var out []reflect.Value
		for _, a := range rest {
			out = append(out, f.evalOperand(a, dot))
		}
		if piped {
			out = append(out, last)
		}
		return out
	}
	name, builtin := c.Args[0].(*parse.IdentifierNode)
	if builtin {
		switch name.Ident {
		case "and", "or": // the result is the first operand that determines the outcome
			var v reflect.Value
			for _, a := range rest {
				if v = f.evalOperand(a, dot); isTruthy(v) == (name.Ident == "or") {
					return v
				}
			}
			return v
		}
		return f.callFunc(name.Ident, args())
	}
	v := f.evalOperand(c.Args[0], dot)
	if fn := dereferenceValue(v); fn.IsValid() && fn.Kind() == reflect.Func {
		return invokeFunc(c.Args[0].String(), fn, args())
	}
	if len(rest) > 0 || piped {
		failExecution("%s takes no arguments", c.Args[0])
	}
	return v
}

func (f *execution) evalOperand(n parse.Node, dot reflect.Value) reflect.Value {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return fieldValue(dot, n.Ident)
	case *parse.ChainNode:
		return fieldValue(f.evalOperand(n.Node, dot), n.Field)
	case *parse.VariableNode:
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].name == n.Ident[0] {
				return fieldValue(f.vars[i].value, n.Ident[1:])
			}
		}
		failExecution("no variable %s", n.Ident[0])
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
		return f.evalCommands(n, dot)
	case *parse.IdentifierNode:
		return f.callFunc(n.Ident, nil)
	}
	failExecution("%s is not supported", n)
	return reflect.Value{}
}

// fieldValue resolves a chain of field names and map keys, starting at v.
func fieldValue(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		at := dereferenceValue(v)
		switch {
		case !at.IsValid():
			failExecution("cannot read field .%s of nil", name)
		case at.Kind() == reflect.Map:
			v = at.MapIndex(reflect.ValueOf(name))
		case at.Kind() == reflect.Struct:
			field, ok := at.Type().FieldByName(name)
			if !ok || !field.IsExported() {
				failExecution("%s has no field %s", at.Type(), name)
			}
			v = at.FieldByIndex(field.Index)
		default:
			failExecution("%s has no fields: .%s", at.Type(), name)
		}
	}
	return v
}

// dereferenceValue returns the value that v's interfaces and pointers refer to. The result is
// invalid if one of them is nil.
func dereferenceValue(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		v = v.Elem()
	}
	return v
}

// isTruthy reports whether a value is neither zero nor empty. A struct is always truthy.
func isTruthy(v reflect.Value) bool {
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

func (f *execution) printValue(v reflect.Value) {
	if p := dereferenceValue(v); v.IsValid() && v.Kind() == reflect.Interface && !p.IsValid() || !v.IsValid() {
		f.writeBytes([]byte("<no value>"))
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
		panic(executionError{err})
	}
}
