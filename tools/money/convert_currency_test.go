package money_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/platform/net/safehttp/safehttptest"
	"hob/platform/store"
	"hob/platform/store/storetest"
	"hob/tools"
	"hob/tools/money"
)

func TestConvertCurrency_KeepsTheLastRates(t *testing.T) {
	document, err := os.ReadFile("testdata/eurofxref-daily.xml")
	if err != nil {
		t.Fatal(err)
	}
	status, body := http.StatusOK, document
	net := safehttptest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	st, err := storetest.Open(t.Context(), filepath.Join(t.TempDir(), "hob.db"), money.Migrations(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	now := time.Date(2024, 12, 1, 12, 0, 0, 0, time.UTC) // a Sunday
	convert := func(d money.Rates, args string) (string, error) {
		r, err := d.Tools()[0].Call(t.Context(), tools.Call{Args: json.RawMessage(args), Now: now, Progress: func(float64, string) {}})
		return r.Text, err
	}
	d := money.Rates{Network: net.Client(t), Store: st, URL: "http://rates.example/daily.xml"}
	check := func(args, want string) {
		t.Helper()
		if got, err := convert(d, args); err != nil || got != want {
			t.Errorf("convert_currency %s = %q, %v, want %q", args, got, err, want)
		}
	}

	status = http.StatusServiceUnavailable
	if _, err := convert(d, `{"amount":50,"from":"USD","to":"EUR"}`); err == nil || !strings.Contains(err.Error(), "rates.example") {
		t.Errorf("convert without rates = %v", err)
	}
	status, body = http.StatusOK, []byte("<html>Sign in</html>")
	if _, err := convert(d, `{"amount":50,"from":"USD","to":"EUR"}`); err == nil || !strings.Contains(err.Error(), "not a list of euro reference rates") {
		t.Errorf("convert with another document = %v", err)
	}
	body = document
	check(`{"amount":50,"from":"USD","to":"EUR"}`, "50 USD = 47.31 EUR (rates.example, rate of Fri 29 Nov).")
	check(`{"amount":20,"from":"GBP","to":"CHF"}`, "20 GBP = 22.39 CHF (rates.example, rate of Fri 29 Nov).")
	check(`{"amount":100,"from":"EUR","to":"JPY"}`, "100 EUR = 15850 JPY (rates.example, rate of Fri 29 Nov).")
	if n := len(net.Heard()); n != 3 {
		t.Errorf("%d requests, want 3: rates are stored for 6 h", n)
	}
	now = now.AddDate(0, 0, 2)
	status = http.StatusInternalServerError
	check(`{"amount":50,"from":"usd","to":"eur"}`, "50 USD = 47.31 EUR (rates.example, rate of Fri 29 Nov); newer rates could not be fetched.")
	for _, args := range []string{`{"amount":50,"from":"USD","to":"XAU"}`, `{"amount":-1,"from":"USD","to":"EUR"}`, `{"amount":1,"from":"euros and","to":"EUR"}`} {
		if got, err := convert(d, args); err == nil {
			t.Errorf("convert_currency %s = %q, want an error", args, got)
		}
	}
}
