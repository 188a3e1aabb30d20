package minitmpl

import (
	"fmt"
	"reflect"
)

// callFunc calls the named function and returns its result.
func (f *execution) callFunc(name string, args []reflect.Value) reflect.Value {
	if fn, own := f.t.funcs[name]; own {
		return invokeFunc(name, reflect.ValueOf(fn), args)
	}
	need := map[string]int{"not": 1, "len": 1, "eq": 2, "ne": 2, "printf": 1}[name]
	if len(args) < need {
		failExecution("%s has too few arguments", name)
	}
	switch name {
	case "not":
		return reflect.ValueOf(!isTruthy(args[0]))
	case "len":
		v := dereferenceValue(args[0])
		if !v.IsValid() {
			return reflect.ValueOf(0)
		}
		switch v.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
			return reflect.ValueOf(v.Len())
		}
		failExecution("%s has no length", v.Type())
	case "eq":
		return reflect.ValueOf(isEqualText(args[0], args[1]))
	case "ne":
		return reflect.ValueOf(!isEqualText(args[0], args[1]))
	case "printf":
		var rest []any
		for _, a := range args[1:] {
			rest = append(rest, a.Interface())
		}
		return reflect.ValueOf(fmt.Sprintf(fmt.Sprint(args[0].Interface()), rest...))
	}
	failExecution("no function %s", name)
	return reflect.Value{}
}

// isEqualText reports whether two values print the same text. Values of different types can
// therefore be equal.
func isEqualText(a, b reflect.Value) bool {
	a, b = dereferenceValue(a), dereferenceValue(b)
	switch {
	case !a.IsValid() || !b.IsValid():
		return a.IsValid() == b.IsValid()
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return a.String() == b.String()
	case a.CanInt() && b.CanInt():
		return a.Int() == b.Int()
	case a.Type() != b.Type() || !a.Comparable():
		failExecution("%s and %s cannot be compared", a.Type(), b.Type())
	}
	return a.Equal(b)
}

// invokeFunc calls a function that returns one result, or one result and an error.
func invokeFunc(name string, fn reflect.Value, args []reflect.Value) reflect.Value {
	t := fn.Type()
	if t.IsVariadic() || t.NumIn() != len(args) || t.NumOut() == 0 {
		failExecution("%s is called with %d arguments", name, len(args))
	}
	for i, a := range args {
		for a.IsValid() && a.Kind() == reflect.Interface {
			a = a.Elem()
		}
		switch want := t.In(i); {
		case !a.IsValid():
			args[i] = reflect.Zero(want)
		case a.Type().AssignableTo(want):
			args[i] = a
		default:
			failExecution("%s: argument %[3]d must be a %[2]s, not a %[4]s", name, want, i+1, a.Type())
		}
	}
	out := fn.Call(args)
	if last := out[len(out)-1]; len(out) == 2 && !last.IsNil() {
		panic(executionError{fmt.Errorf("%s: %v", name, last.Interface())})
	}
	return out[0]
}
