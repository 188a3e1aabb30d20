package money

import (
	"testing"
	"testing/quick"

	"hob/platform/text/amount"
)

func TestDecimal_IsExact(t *testing.T) {
	for _, tc := range []struct {
		in, currency, out string
		bad               bool
	}{
		{"12.5", "EUR", "12.50", false},
		{"12.50", "EUR", "12.50", false},
		{"0.01", "EUR", "0.01", false},
		{"0.10", "USD", "0.10", false},
		{"1000", "JPY", "1000", false},
		{"1.234", "KWD", "1.234", false},
		{"12.345", "EUR", "", true},
		{"1.5", "JPY", "", true},
		{"0", "EUR", "", true},
		{"-3", "EUR", "", true},
		{"1e3", "EUR", "", true},
		{"99999999999999999999", "EUR", "", true},
		{"", "EUR", "", true},
	} {
		minor, err := minorOf(tc.in, tc.currency)
		if (err != nil) != tc.bad {
			t.Errorf("%s %s: %v", tc.in, tc.currency, err)
			continue
		}
		if err == nil && amount.Format(minor, tc.currency) != tc.out {
			t.Errorf("%s %s became %s", tc.in, tc.currency, amount.Format(minor, tc.currency))
		}
	}
}

func TestDecimal_RoundTrip(t *testing.T) {
	f := func(n uint32) bool {
		m, err := minorOf(amount.Format(int64(n)+1, "EUR"), "EUR")
		return err == nil && m == int64(n)+1
	}
	if err := quick.Check(f, nil); err != nil {
		t.Error(err)
	}
}

func TestCurrencies(t *testing.T) {
	for in, want := range map[string]string{"": "EUR", "€": "EUR", "$": "USD", "usd": "USD", "quid": "GBP"} {
		if got, err := parseCurrency(in, "EUR"); err != nil || got != want {
			t.Errorf("%q: parseCurrency = %q, %v", in, got, err)
		}
	}
	if _, err := parseCurrency("magic beans", "EUR"); err == nil {
		t.Error("parseCurrency accepts \"magic beans\"")
	}
}
