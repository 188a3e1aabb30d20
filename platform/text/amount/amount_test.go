package amount

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		in       string
		mark     rune
		currency string
		want     string // Format of the result; "" means an error
	}{
		{"12.50", '.', "EUR", "12.50"},
		{"-1.234,56", ',', "EUR", "-1234.56"},
		{"1 234,5 EUR", ',', "EUR", "1234.50"},
		{"1'234.50", '.', "CHF", "1234.50"},
		{"(12.50)", '.', "USD", "-12.50"},
		{"12.50-", '.', "USD", "-12.50"},
		{"\u22127,00 €", ',', "EUR", "-7.00"},
		{"$1,234,567.89", '.', "USD", "1234567.89"},
		{"1,23,456.70", '.', "INR", "123456.70"},
		{"1200.00", '.', "JPY", "1200"},
		{"1.234", '.', "BHD", "1.234"},
		{"0,005", ',', "KWD", "0.005"},
		{".5", '.', "EUR", "0.50"},
		{"-0.00", '.', "EUR", "0.00"},
		{"12.345", '.', "EUR", ""},
		{"1.5", '.', "JPY", ""},
		{"1,2,3.00", '.', "EUR", ""},
		{"1.2.3", '.', "EUR", ""},
		{"--5", '.', "EUR", ""},
		{"12 beads", '.', "EUR", ""},
		{"99999999999999999999", '.', "EUR", ""},
		{"", '.', "EUR", ""},
		{".", '.', "EUR", ""},
	} {
		n, err := Parse(tc.in, tc.mark, tc.currency)
		if tc.want == "" {
			if err == nil {
				t.Errorf("Parse(%q) = %d, want an error", tc.in, n)
			}
			continue
		}
		if err != nil || Format(n, tc.currency) != tc.want {
			t.Errorf("Parse(%q) = %s, %v, want %s", tc.in, Format(n, tc.currency), err, tc.want)
		}
	}
}

func TestDetectMark(t *testing.T) {
	for in, want := range map[string]rune{
		"12.50 7 -3.00": '.', "12,50 1.234": ',', "1.234,50": ',', "1.234.567": ',', "1,234 0.5": '.', "0.125": '.', "1234,567": ',', "5 6": '.',
	} {
		if got, err := DetectMark(strings.Fields(in)); err != nil || got != want {
			t.Errorf("DetectMark(%s) = %q, %v, want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]error{"1.234 5.678": ErrAmbiguous, "1,234": ErrAmbiguous, "1,50 2.50": ErrMixed} {
		if got, err := DetectMark(strings.Fields(in)); !errors.Is(err, want) {
			t.Errorf("DetectMark(%s) = %q, %v, want %v", in, got, err, want)
		}
	}
}

// Sums of thousands of amounts are exact for each number of decimals and both separators.
func TestParse_KeepsSumsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a fixed sequence
	for _, currency := range []string{"EUR", "JPY", "BHD"} {
		for _, mark := range []rune{'.', ','} {
			var minor int64
			sum := new(big.Rat)
			for range 5000 {
				plain := Format(r.Int64N(20_000_000)-10_000_000, currency)
				exact, ok := new(big.Rat).SetString(plain)
				if !ok {
					t.Fatal(plain)
				}
				sum.Add(sum, exact)
				n, err := Parse(strings.ReplaceAll(plain, ".", string(mark)), mark, currency)
				if err != nil {
					t.Fatal(err)
				}
				minor += n
			}
			if got := Format(minor, currency); got != sum.FloatString(Digits(currency)) {
				t.Errorf("%s: the sum is %s, want %s", currency, got, sum.FloatString(Digits(currency)))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"12.50", "-1.234,56", "(3)", "€ 7", "1'000", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, currency := range []string{"EUR", "JPY", "BHD"} {
			for _, mark := range []rune{'.', ','} {
				n, err := Parse(s, mark, currency)
				if err != nil {
					continue
				}
				again, err := Parse(strings.ReplaceAll(Format(n, currency), ".", string(mark)), mark, currency)
				if err != nil || again != n {
					t.Errorf("Parse(%q) = %d, but its text %q = %d, %v", s, n, Format(n, currency), again, err)
				}
			}
		}
		_, _ = DetectMark(strings.Fields(s))
	})
}
