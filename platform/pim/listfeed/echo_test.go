package listfeed_test

import (
	"context"
	"strings"
	"testing"

	"hob/platform/pim/listfeed"
)

type keeper map[string][]byte

func (k keeper) Get(_ context.Context, key string) ([]byte, error) { return k[key], nil }
func (k keeper) Set(_ context.Context, key string, v []byte) error {
	k[key] = v
	return nil
}

func openKey(t *testing.T, k keeper) listfeed.Key {
	t.Helper()
	key, err := listfeed.OpenKey(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestMark(t *testing.T) {
	k := keeper{}
	key := openKey(t, k)
	text := key.With("an answer", "d1")
	if !listfeed.Marked(text) || !listfeed.Marked("title", "before "+text+" after") || key.Mark("d1") == key.Mark("d2") || openKey(t, k).Mark("d1") != key.Mark("d1") {
		t.Errorf("With = %q", text)
	}
	other := openKey(t, keeper{})
	if other.Mark("d1") == key.Mark("d1") || !listfeed.Marked(other.Mark("d1")) {
		t.Error("marks of another key must be detected and differ")
	}
	mark := key.Mark("d1")
	for _, s := range []string{"", "an answer", "(hob )", mark[:len(mark)-2], strings.ToUpper(mark)} {
		if listfeed.Marked(s) {
			t.Errorf("%q counts as Hob's own", s)
		}
	}
}

func TestSet(t *testing.T) {
	k := keeper{}
	s := listfeed.NewSet(k, "x", 3)
	if all, err := s.All(t.Context()); all != nil || err != nil {
		t.Errorf("All = %v, %v", all, err)
	}
	for _, w := range []string{"a", "b", "b", "c", "d"} {
		if err := listfeed.NewSet(k, "x", 3).Add(t.Context(), listfeed.Digest(w)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.All(t.Context())
	if err != nil || len(all) != 3 || all[listfeed.Digest("a")] || !all[listfeed.Digest("d")] {
		t.Errorf("All = %v, %v", all, err)
	}
	if listfeed.Words("Buy  milk", "and\nbread") != listfeed.Words("buy milk and bread", "") || listfeed.Digest("a", "b") == listfeed.Digest("ab") {
		t.Error("digests")
	}
}

func FuzzMarked(f *testing.F) {
	key, err := listfeed.OpenKey(context.Background(), keeper{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("(hob 0123456789abcdef0123456789abcdef)")
	f.Fuzz(func(t *testing.T, s string) {
		if !listfeed.Marked(key.With(s, "d")) {
			t.Errorf("%q with its mark does not count as Hob's own", s)
		}
	})
}
