package erase

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestSealed_RecoversPhrasesFromTheDataOnly(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	e := Erasure{
		ID: "e1", Facts: []string{"f1"}, Events: []string{"ev"}, Calls: []string{"c"}, Docs: []Doc{{"note", "n-Kestrel"}},
		Sources: []string{"file:/home/ada/Kestrel.txt"}, Sessions: []string{"telegram:Kestrel"},
		Phrases: []string{"the key is under Kestrel's pot", "ключ под горшком", "Zoë's  lane 7", "not in the data"},
	}
	sealed := e.Seal(key)
	raw, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"Kestrel", "kestrel", "ключ", "zoe", "pot", "lane"} {
		if bytes.Contains(raw, []byte(word)) {
			t.Errorf("the sealed erasure contains %q: %s", word, raw)
		}
	}
	o := NewOpener(key, []Sealed{sealed})
	for _, cell := range []string{
		"", "x", "He said: THE KEY is\nunder Kestrel’s pot, really", `{"text":"\u043a\u043b\u044e\u0447 под горшком"}`, strings.Repeat("padding ", 999) + "zoe's lane 77",
		"n-Kestrel", "file:/home/ada/Kestrel.txt", "telegram:Kestrel", "file:/home/ada/Kestrel.txt and more",
	} {
		o.Read([]byte(cell))
	}
	got := o.Open("e1", sealed)
	if want := []string{"the key is under kestrel's pot", "ключ под горшком", "zoe's lane 7"}; !slices.Equal(got.Phrases, want) {
		t.Errorf("phrases = %q, want %q", got.Phrases, want)
	}
	if !slices.Equal(got.Docs, e.Docs) || !slices.Equal(got.Sources, e.Sources) || !slices.Equal(got.Sessions, e.Sessions) || !slices.Equal(got.Facts, e.Facts) || got.ID != "e1" {
		t.Errorf("Open = %+v", got)
	}
	text, changed := got.Scrubber().Text("The key is under KESTREL's pot.")
	if !changed || strings.Contains(text, "KESTREL") {
		t.Errorf("Text = %q, %v", text, changed)
	}
	other := NewOpener([]byte("another key of the same length.."), []Sealed{sealed})
	other.Read([]byte("ключ под горшком"))
	if got := other.Open("e1", sealed); len(got.Phrases) > 0 {
		t.Errorf("Open with another key finds %q", got.Phrases)
	}
}

func FuzzSealed(f *testing.F) {
	f.Add("Kestrel 9981", "before ", " after")
	f.Add("a", "", "")
	f.Fuzz(func(t *testing.T, phrase, before, after string) {
		key := []byte("k")
		e := Erasure{Phrases: []string{phrase}}
		s := e.Seal(key)
		if len(s.Phrases) == 0 {
			return
		}
		text := before + foldPhrase(phrase) + after
		o := NewOpener(key, []Sealed{s})
		o.Read([]byte(text))
		want := strings.Contains(string(foldBytes([]byte(text), nil).text), foldPhrase(phrase))
		if got := len(o.Open("", s).Phrases) == 1; want && !got {
			t.Errorf("%q was not found in %q", phrase, text)
		}
	})
}

func BenchmarkOpener(b *testing.B) {
	key := []byte("k")
	e := Erasure{Phrases: []string{"Kestrel-9981", "the spare key is under the pot", "ключ под горшком"}}
	s := e.Seal(key)
	text := []byte(strings.Repeat("The quick brown fox said jumping extraordinarily often.\n", 20000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		NewOpener(key, []Sealed{s}).Read(text)
	}
}
