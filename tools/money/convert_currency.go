package money

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hob/platform/net/safehttp"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/amount"
	"hob/platform/text/dateparse"
	"hob/tools"
)

// ECBRates is the address of the daily reference rates of the European Central Bank.
const ECBRates = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"

const (
	maxRates  = 256 << 10       // bytes of the document
	ratesAge  = 6 * time.Hour   // age at which rates are fetched again; the bank publishes new rates once per working day
	ratesWait = 8 * time.Second // time limit of the service
)

// Rates are the dependencies of convert_currency.
type Rates struct {
	// Network fetches the rates; required.
	Network *safehttp.Client
	// Store stores the last rates; required.
	Store *store.Store
	// URL is the address of the rates in the format of ECBRates; "" means ECBRates.
	URL string
}

// Tools returns convert_currency.
func (d Rates) Tools() []tools.Tool {
	if d.URL == "" {
		d.URL = ECBRates
	}
	return []tools.Tool{d.convertCurrency()}
}

type convertIn struct {
	Amount float64 `json:"amount" jsonschema:"above 0"`
	From   string  `json:"from" jsonschema:"ISO 4217 code"`
	To     string  `json:"to" jsonschema:"ISO 4217 code"`
}

// convertOut is the Data of convert_currency.
type convertOut struct {
	Amount float64 `json:"amount"`
	To     string  `json:"to"`
	Date   string  `json:"date"`
	Source string  `json:"source"`
}

// dayRates contains the rates of one day: the amount of each currency that equals one euro.
type dayRates struct {
	day     string // YYYY-MM-DD
	fetched time.Time
	per     map[string]float64
}

func (d Rates) convertCurrency() tools.Tool {
	return tools.New(tools.Def[convertIn]{
		Spec: tools.Spec{
			Name: "convert_currency", Category: "money", Effects: tools.Read, Timeout: time.Minute,
			Description: "Convert an amount to another currency at the reference rate of the day.",
			Keywords:    "exchange rate euro dollar pound yen franc convert currencies foreign",
		},
		Summary: func(in convertIn) string {
			return fmt.Sprintf("Convert %s %s to %s", strconv.FormatFloat(in.Amount, 'f', -1, 64), tools.Clean(in.From), tools.Clean(in.To))
		},
		Run: func(ctx context.Context, c tools.Call, in convertIn) (tools.Result, error) {
			from, err := parseCurrency(in.From, "")
			if err != nil {
				return tools.Result{}, err
			}
			to, err := parseCurrency(in.To, "")
			if err != nil {
				return tools.Result{}, err
			}
			if in.Amount <= 0 || in.Amount > maxAmount {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "amount must be above 0 and at most %d", maxAmount)
			}
			rates, stale, err := d.currentRates(ctx, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			a, b := rates.per[from], rates.per[to]
			if a == 0 || b == 0 {
				missing := from
				if a != 0 {
					missing = to
				}
				return tools.Result{}, tools.Errorf(tools.NotFound, "exchange rate: %s has no rate for %s", d.sourceName(), missing)
			}
			digits := amount.Digits(to)
			out := convertOut{Amount: in.Amount / a * b, To: to, Date: rates.day, Source: d.sourceName()}
			if out.Amount < 1 {
				digits = 4
			}
			day, err := time.ParseInLocation(time.DateOnly, rates.day, c.Now.Location())
			if err != nil {
				return tools.Result{}, fmt.Errorf("exchange rate: date of the rates: %w", err)
			}
			text := fmt.Sprintf("%s %s = %s %s (%s, rate of %s)", strconv.FormatFloat(in.Amount, 'f', -1, 64), from, strconv.FormatFloat(out.Amount, 'f', digits, 64), to, out.Source, dateparse.FormatDay(day, c.Now))
			if stale {
				text += "; newer rates could not be fetched"
			}
			return tools.Result{Text: text + ".", Data: out, Source: provenance.Tool}, nil
		},
	})
}

// sourceName returns who publishes the rates.
func (d Rates) sourceName() string {
	u, err := url.Parse(d.URL)
	switch {
	case err != nil:
		return "the configured source"
	case u.Host == "www.ecb.europa.eu":
		return "European Central Bank"
	}
	return u.Host
}

// currentRates returns the stored rates if they are new enough, and otherwise fetches them. Without a
// connection it returns the stored rates; stale is then true.
func (d Rates) currentRates(ctx context.Context, now time.Time) (_ dayRates, stale bool, err error) {
	kept, err := d.storedRates(ctx)
	if err != nil {
		return dayRates{}, false, err
	}
	if len(kept.per) > 0 && (kept.day == now.Format(time.DateOnly) || now.Sub(kept.fetched) < ratesAge && !now.Before(kept.fetched)) {
		return kept, false, nil
	}
	fresh, err := d.fetchRates(ctx, now)
	if err != nil {
		if len(kept.per) > 0 {
			return kept, true, nil
		}
		return dayRates{}, false, err
	}
	return fresh, false, d.storeRates(ctx, fresh)
}

func (d Rates) fetchRates(ctx context.Context, now time.Time) (dayRates, error) {
	ctx, cancel := context.WithTimeout(ctx, ratesWait)
	defer cancel()
	client, err := d.Network.Named(d.URL)
	if err != nil {
		return dayRates{}, fmt.Errorf("exchange rate: %w", err)
	}
	r, err := client.Fetch(ctx, safehttp.Request{URL: d.URL, MaxBody: maxRates, Header: http.Header{"Accept": {"application/xml, text/xml"}}})
	if err != nil {
		e := &tools.Error{Code: tools.Failed, Message: "exchange rate: " + d.sourceName() + " cannot be reached", Remedy: "check the internet connection and ask again", Err: err, Source: provenance.Tool}
		return dayRates{}, e
	}
	if r.Status != http.StatusOK {
		return dayRates{}, tools.Errorf(tools.Failed, "exchange rate: %s: HTTP status %d; ask again later", d.sourceName(), r.Status)
	}
	out, err := parseRates(r.Body)
	if err != nil {
		return dayRates{}, tools.Errorf(tools.Failed, "exchange rate: %s: %w", d.sourceName(), tools.CleanErr(err))
	}
	out.fetched = now
	return out, nil
}

// errRates means that a document is not in the format of the European Central Bank.
var errRates = errors.New("response is not a list of euro reference rates; check network.rates")

// parseRates parses the XML of the European Central Bank.
func parseRates(body []byte) (dayRates, error) {
	var doc struct {
		Days []struct {
			Day   string `xml:"time,attr"`
			Rates []struct {
				Currency string `xml:"currency,attr"`
				Rate     string `xml:"rate,attr"`
			} `xml:"Cube"`
		} `xml:"Cube>Cube"`
	}
	if xml.Unmarshal(body, &doc) != nil || len(doc.Days) == 0 {
		return dayRates{}, errRates
	}
	newest := doc.Days[0]
	out := dayRates{day: newest.Day, per: map[string]float64{"EUR": 1}}
	if _, err := time.Parse(time.DateOnly, newest.Day); err != nil {
		return dayRates{}, errRates
	}
	for _, r := range newest.Rates {
		v, err := strconv.ParseFloat(r.Rate, 64)
		if err != nil || v <= 0 || len(r.Currency) != 3 || strings.Trim(r.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return dayRates{}, errRates
		}
		out.per[r.Currency] = v
	}
	if len(out.per) < 2 {
		return dayRates{}, errRates
	}
	return out, nil
}

func (d Rates) storedRates(ctx context.Context) (out dayRates, err error) {
	rows, err := d.Store.Reader(ctx).Query(`SELECT currency, rate, day, fetched_at FROM currency_rates WHERE source = ?`, d.URL)
	if err != nil {
		return out, fmt.Errorf("exchange rate: read stored rates: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out.per = map[string]float64{}
	for rows.Next() {
		var currency string
		var rate float64
		var at int64
		if err := rows.Scan(&currency, &rate, &out.day, &at); err != nil {
			return out, fmt.Errorf("exchange rate: read stored rates: %w", err)
		}
		out.per[currency], out.fetched = rate, store.Time(at)
	}
	return out, rows.Err()
}

func (d Rates) storeRates(ctx context.Context, r dayRates) error {
	return d.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM currency_rates`); err != nil {
			return fmt.Errorf("exchange rate: store rates: %w", err)
		}
		for currency, rate := range r.per {
			if _, err := tx.Exec(`INSERT INTO currency_rates (currency, rate, day, fetched_at, source) VALUES (?, ?, ?, ?, ?)`, currency, rate, r.day, store.Millis(r.fetched), d.URL); err != nil {
				return fmt.Errorf("exchange rate: store rates: %w", err)
			}
		}
		return nil
	})
}
