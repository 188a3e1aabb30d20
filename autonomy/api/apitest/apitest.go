// Package apitest checks that API types encode to the same JSON as the types that they replace.
package apitest

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"
)

// SameJSON checks that a value and its conversion encode to the same JSON, both with all fields set
// and with no fields set.
func SameJSON[S, T any](t *testing.T, convert func(S) T) {
	t.Helper()
	var none, all S
	fill(reflect.ValueOf(&all).Elem())
	for _, x := range []S{none, all} {
		want, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(convert(x))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%T:\n got %s\nwant %s", x, got, want)
		}
	}
}

// fill sets every settable field to a value that JSON does not omit.
func fill(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
		return
	case *json.RawMessage:
		*p = json.RawMessage(`{"a":1}`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(4)
	case reflect.Float64:
		v.SetFloat(math.Pi)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		x := reflect.New(v.Type().Elem()).Elem()
		fill(x)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), x)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}
