package tools_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"hob/platform/provenance"
	"hob/tools"
)

func TestErrorf_IsCleanOnlyWhenAllArgumentsAre(t *testing.T) {
	sentinel := errors.New("not found")
	for _, tc := range []struct {
		name  string
		arg   any
		clean bool
	}{
		{"number", 3, true},
		{"float", 2.5, true},
		{"time", time.Now(), true},
		{"duration", time.Second, true},
		{"clean text", tools.Clean("milk"), true},
		{"code", tools.NotFound, true},
		{"clean error", tools.CleanErr(sentinel), true},
		{"tool error", tools.Errorf(tools.Failed, "no"), true},
		{"cancellation", context.Canceled, true},
		{"nil", nil, true},
		{"string", "x", false},
		{"strings", []string{"x"}, false},
		{"bytes", []byte("x"), false},
		{"plain error", sentinel, false},
		{"wrapper of a clean error", fmt.Errorf("x: %w", tools.CleanErr(sentinel)), false},
		{"quoting error", tools.Quoting(tools.Errorf(tools.Failed, "no"), provenance.Outside), false},
		{"error without a source", &tools.Error{Message: "no"}, false},
		{"struct", struct{ S string }{"x"}, false},
		{"stringer", &url.URL{Host: "x"}, false},
		{"pointer", new("x"), false},
	} {
		err := tools.Errorf(tools.Failed, "it says %v", tc.arg)
		if got := !tools.SourceOf(err).Tainted(); got != tc.clean {
			t.Errorf("%s: clean %v, want %v", tc.name, got, tc.clean)
		}
	}
}

func TestSourceOf_IsOutsideUnlessNamed(t *testing.T) {
	clean := tools.Errorf(tools.Failed, "no")
	for _, tc := range []struct {
		name string
		err  error
		want provenance.Source
	}{
		{"nil", nil, provenance.Outside},
		{"clean", clean, provenance.Tool},
		{"joined alone", errors.Join(clean, nil), provenance.Tool},
		{"joined with another", errors.Join(clean, errors.New("x")), provenance.Outside},
		{"wrapped with words", fmt.Errorf("x: %w", clean), provenance.Outside},
		{"wrapped without words", fmt.Errorf("%w", clean), provenance.Tool},
		{"unknown source", &tools.Error{Source: "x"}, provenance.Outside},
		{"deadline", context.DeadlineExceeded, provenance.Tool},
		{"wrapped deadline", fmt.Errorf("mallory: %w", context.DeadlineExceeded), provenance.Outside},
	} {
		if got := tools.SourceOf(tc.err); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if err := tools.CleanErr(nil); err != nil {
		t.Errorf("CleanErr(nil) = %v", err)
	}
	if base := errors.New("x"); !errors.Is(tools.CleanErr(base), base) {
		t.Error("CleanErr hides the wrapped error")
	}
}
