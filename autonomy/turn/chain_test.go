package turn

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheOrderOfTheChain(t *testing.T) {
	a := &Runner{o: Options{Log: slog.New(slog.DiscardHandler), Hooks: []Hook{{Name: "first"}, {Name: "second"}}}}
	var got []string
	for _, l := range newTurnRun(a, &Turn{}).buildChain(t.Context()) {
		got = append(got, l.name)
	}
	want := []string{"log", "route", "schema", "limits", "first", "second", "policy", "feed", "truncate", "audit", "say"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAHookMustHaveAName(t *testing.T) {
	if _, err := New(Options{Hooks: []Hook{{}}}); err == nil {
		t.Error("a hook without a name was taken")
	}
}
