package analyzer

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTerms(t *testing.T) {
	tests := []struct{ name, text, lang, want string }{
		{"english", "My sister's birthdays", "en", "birthday birthdays my sister"},
		{"curly possessive", "Zoë’s", "en", "zoe"},
		{"contraction", "don't", "en", "don t"},
		{"german", "Die Mütter wohnen nicht in Köln", "de", "die in koln mutt mutter nicht wohn wohnen"},
		{"french accents", "Elle aime les crèmes brûlées et le thé", "fr", "aim aime brul brulees crem cremes elle et le les the"},
		{"letters without a mark to drop", "Łódź Straße Ørsted", "pl", "lodz orsted strasse"},
		{"names", "invoice-4711.pdf of ana@example.com", "en", "4711 ana ana@example.com com exampl example invoic invoice invoice-4711.pdf of pdf"},
		{"end of a sentence", "Call Ana. Then Bo, at 5:30.", "en", "30 5 5:30 ana at bo call then"},
		{"japanese", "会議は毎週火曜日", "cjk", "は は毎 会 会議 日 曜 曜日 週 週火 議 議は 毎 毎週 火 火曜"},
		{"japanese beside latin", "GPT火曜", "cjk", "gpt 曜 火 火曜"},
		{"russian", "чай в шкафу", "ru", "в ча чаи шкаф шкафу"},
		{"full width", "ＡＢＣ １２３", "en", "123 abc"},
		{"arabic digits", "٤٧١١", "ar", "4711"},
		{"nothing", " -- !! ", "", ""},
		{"broken bytes", "a\xff\xfeb", "en", "a b"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d := Of(Part{Text: tc.text})
			got := strings.Join(slices.Sorted(maps.Keys(d.Freq)), " ")
			if diff := cmp.Diff(sortWords(tc.want), sortWords(got)); diff != "" || d.Lang != tc.lang {
				t.Errorf("language %q, want %q; %s", d.Lang, tc.lang, diff)
			}
		})
	}
}

func sortWords(s string) []string {
	f := strings.Fields(s)
	slices.Sort(f)
	return f
}

func TestQuery(t *testing.T) {
	row := func(s string) Doc { return Of(Part{Text: s}) }
	all := []string{"en", "de", "fr", "es", "ru"}
	tests := []struct {
		name, word, row string
		loose, want     bool
	}{
		{"exact", "birthday", "the birthday of Ana", false, true},
		{"stem", "birthdays", "the birthday of Ana", false, true},
		{"stem in german", "Mütter", "die Mutter und ich", false, true},
		{"stem in french", "aimer", "elle aime les fleurs", false, true},
		{"stem in russian", "шкафы", "чай в шкафу", false, true},
		{"accents left out", "brulee", "Zoë likes crème brûlée", false, true},
		{"a part of a name", "4711", "invoice-4711.pdf is paid", false, true},
		{"pair of characters", "曜日", "会議は毎週火曜日です", false, true},
		{"one character", "火", "会議は毎週火曜日です", false, true},
		{"other word", "wedding", "the birthday of Ana", true, false},
		{"beginning", "penic", "penicillin", true, true},
		{"prefixes only in a loose search", "penic", "penicillin", false, false},
		{"root", "allergies", "allergic to nuts", true, true},
		{"slip", "plummer", "the plumber", true, true},
		{"no typing errors in numbers", "4711", "4712", true, false},
		{"no typing errors in short words", "cat", "car", true, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w := Query(tc.word, all, 64)
			if len(w) != 1 {
				t.Fatalf("Query = %+v", w)
			}
			if got := w[0].Freq(row(tc.row), tc.loose) > 0; got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
	if w := Query("invoice-4711.pdf paid paid", nil, 64); len(w) != 5 || !w[3].Extra {
		t.Errorf("Query = %+v", w)
	}
	if w := Query(strings.Repeat("word ", 5)+strings.Repeat("x", 1<<21), nil, 64); len(w) != 2 || len(w[1].Text) > maxTerm {
		t.Errorf("%d terms", len(w))
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{"It's café-4711.pdf \xff 会議", "a’s", "１２３ß", "\u0301", "ﷺ", "مرحبا"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := Of(Part{s, 1}, Part{s, 2})
		for term := range d.Freq {
			if term == "" || len(term) > maxTerm || !utf8.ValidString(term) {
				t.Fatalf("%q gives the term %q", s, term)
			}
		}
		for _, w := range Query(s, []string{"en", "de", "ru"}, 64) {
			if w.Freq(d, false) <= 0 {
				t.Fatalf("%q does not match its own word %q: %v", s, w.Text, d.Freq)
			}
			w.Freq(d, true)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	text := strings.Repeat("The plumber's invoice-4711.pdf was paid by my sister on Tuesday and Zoë likes crème brûlée. ", 3)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Of(Part{text, 1})
	}
}
