package receipt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hob/platform/text/amount"
)

var now = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

// summarizeReceipt writes what a user would notice of a receipt.
func summarizeReceipt(r Receipt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "vendor: %s\ndate: %s\ncurrency: %s", r.Vendor, r.Date, r.Currency)
	if r.Assumed {
		b.WriteString(" (assumed)")
	}
	for _, i := range r.Items {
		fmt.Fprintf(&b, "\nitem: %s = %s", strings.TrimSpace(i.Quantity+" "+i.Text), i.Amount)
	}
	for _, t := range r.Taxes {
		fmt.Fprintf(&b, "\ntax: %s %% = %s", t.Rate, t.Amount)
	}
	if r.Tip != nil {
		fmt.Fprintf(&b, "\ntip: %s", r.Tip.Amount)
	}
	if r.Total != nil {
		fmt.Fprintf(&b, "\ntotal: %s", r.Total.Amount)
	}
	switch {
	case r.AddsUp == nil:
		b.WriteString("\nadds up: unknown")
	default:
		fmt.Fprintf(&b, "\nadds up: %v", *r.AddsUp)
	}
	if r.OnTop {
		b.WriteString(", tax on top")
	}
	for _, q := range r.Questions {
		fmt.Fprintf(&b, "\nask: %s", q.Text)
	}
	return b.String() + "\n"
}

// The files in testdata contain a receipt, a line "---" and what Parse finds.
func TestParse(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
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
			own := "EUR"
			if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "own: ") {
				own, text = first[5:], rest
			}
			got := summarizeReceipt(Parse(text, Options{Currency: own, Now: now}))
			if got != want {
				t.Errorf("Parse finds\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := Parse(s, Options{Currency: "EUR", Now: now})
		if r.AddsUp != nil && *r.AddsUp {
			sum := sumLines(r.Items)
			if len(r.Items) == 0 {
				sum = r.Subtotal.Minor
			}
			rest := r.Total.Minor - sum
			if r.OnTop {
				rest -= sumLines(r.Taxes)
			}
			if rest != 0 && (r.Tip == nil || rest != r.Tip.Minor) {
				t.Errorf("adds_up is true, but %s is not the sum of the lines: %+v", r.Total.Amount, r)
			}
		}
		if r.AddsUp != nil && !*r.AddsUp && len(r.Questions) == 0 || r.Total == nil && len(r.Questions) == 0 || r.Date == "" && len(r.Questions) == 0 {
			t.Errorf("nothing is asked: %+v", r)
		}
		if len(r.Date) > 0 && r.Date > now.Format(time.DateOnly) {
			t.Errorf("the date %s is in the future", r.Date)
		}
		if !amount.IsCode(r.Currency) || !utf8.ValidString(r.Vendor) && utf8.ValidString(s) {
			t.Errorf("currency %q, vendor %q", r.Currency, r.Vendor)
		}
	})
}
