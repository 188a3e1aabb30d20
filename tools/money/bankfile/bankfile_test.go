package bankfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"

	"hob/platform/text/amount"
)

var now = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

func summarizeStatement(s Statement, err error) string {
	var b strings.Builder
	if q, ok := errors.AsType[*QuestionError](err); ok {
		return "ask " + q.Option + ": " + q.Text + "\n"
	}
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	if s.Account != "" {
		b.WriteString("account " + s.Account + "\n")
	}
	for _, e := range s.Entries {
		text := e.Payee
		if text == "" {
			text = "memo " + e.Memo
		}
		if e.Category != "" {
			text += " [" + e.Category + "]"
		}
		if s.Format == "ofx" {
			text += " (" + e.ID + ")"
		}
		fmt.Fprintf(&b, "%s %s %s %s\n", e.Day, amount.Format(e.Minor, e.Currency), e.Currency, text)
	}
	for _, x := range s.Skipped {
		fmt.Fprintf(&b, "skipped %d: %s\n", x.Line, x.Why)
	}
	for _, n := range s.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String()
}

// The files in testdata contain an export as several banks write it, a line "---" and what Parse
// finds.
func TestParse(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := strings.Cut(string(raw), "\n---\n")
			for name, data := range map[string][]byte{"as it is": []byte(text), "with CRLF": []byte(strings.ReplaceAll(text, "\n", "\r\n")), "with a BOM": []byte("\xef\xbb\xbf" + text)} {
				if got := summarizeStatement(Parse(data, Options{Currency: "EUR", Now: now})); got != want {
					t.Errorf("%s: Parse finds\n%s\nwant\n%s", name, got, want)
				}
			}
		})
	}
}

func TestParse_UsesAnswers(t *testing.T) {
	parse := func(file string, o Options) string {
		raw, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(raw), "\n---\n")
		o.Currency, o.Now = "EUR", now
		return summarizeStatement(Parse([]byte(text), o))
	}
	for _, tc := range []struct {
		file string
		o    Options
		want string
	}{
		{"ambiguous.csv", Options{DateOrder: "mdy"}, "2026-03-10 -4.50 EUR memo Tea"},
		{"ambiguous.csv", Options{DateOrder: "dmy"}, "2026-10-03 -4.50 EUR memo Tea"},
		{"card.csv", Options{Spending: "positive"}, "2026-10-28 -45.00 EUR memo OCADO LONDON"},
		{"card.csv", Options{Spending: "negative"}, "2026-10-28 45.00 EUR memo OCADO LONDON"},
		{"unknown-columns.csv", Options{Columns: map[string]string{"date": "wann", "amount": "3", "payee": "Was"}}, "2026-10-01 -4.50 EUR Tee"},
		{"unknown-columns.csv", Options{Columns: map[string]string{"date": "wo"}}, `there is no column "wo"`},
		{"unknown-columns.csv", Options{Columns: map[string]string{"price": "wo"}}, `columns has no "price"`},
	} {
		if got := parse(tc.file, tc.o); !strings.Contains(got, tc.want) {
			t.Errorf("%s with %+v: %s, want %s", tc.file, tc.o, got, tc.want)
		}
	}
}

func TestParse_ReadsOtherEncodings(t *testing.T) {
	raw, err := os.ReadFile("testdata/sparkasse.csv")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(raw), "\n---\n")
	latin, err := charmap.ISO8859_1.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(latin, Options{Currency: "EUR", Now: now})
	if err != nil || s.Entries[1].Payee != "Stadtwerke Köln" || len(s.Notes) != 1 {
		t.Errorf("Latin-1: %s", summarizeStatement(s, err))
	}
	baltic, err := charmap.Windows1257.NewEncoder().Bytes([]byte("Data;Gavėjas;Suma\n2026-10-01;Žalia žolė;-5,00\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err = Parse(baltic, Options{Currency: "EUR", Now: now, Encoding: "windows-1257"})
	if err != nil || s.Entries[0].Payee != "Žalia žolė" {
		t.Errorf("Windows-1257: %s", summarizeStatement(s, err))
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		text, _, _ := strings.Cut(string(raw), "\n---\n")
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data, Options{Currency: "EUR", Now: now})
		if err != nil {
			return
		}
		for _, e := range s.Entries {
			if _, err := time.Parse(time.DateOnly, e.Day); err != nil || !amount.IsCode(e.Currency) {
				t.Errorf("entry %+v", e)
			}
		}
	})
}
