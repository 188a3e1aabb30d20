package usage

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"hob/autonomy/config"
	"hob/autonomy/llm"
	"hob/platform/text/sorting"
)

//go:embed prices.json
var priceList []byte

// Price is the price of a model in US dollars per million tokens. A cache price of 0 means that
// cached tokens have the normal price.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	// Long, if set, is the price for calls with more than Over input tokens.
	Over int    `json:"over,omitempty"`
	Long *Price `json:"long,omitempty"`
}

// Cost returns the cost of a call, rounded up to a millionth of a dollar.
func (p Price) Cost(u llm.Usage) Micros {
	if p.Long != nil && u.Input > p.Over {
		return p.Long.Cost(u)
	}
	plain := max(0, u.Input-u.CacheRead-u.CacheWrite)
	sum := float64(plain)*p.Input + float64(u.CacheRead)*orElse(p.CacheRead, p.Input) +
		float64(u.CacheWrite)*orElse(p.CacheWrite, p.Input) + float64(u.Output)*p.Output
	return Micros(math.Ceil(sum - 1e-6)) // $1 per million tokens is 1 µ$ per token
}

// maxCost returns the maximum cost of a call. It assumes that no input is read from the cache and,
// if that costs more, that all input is written to it.
func (p Price) maxCost(input, output int) Micros {
	return max(p.Cost(llm.Usage{Input: input, Output: output}), p.Cost(llm.Usage{Input: input, Output: output, CacheWrite: input}))
}

func orElse(v, other float64) float64 {
	if v == 0 {
		return other
	}
	return v
}

// Prices finds the price of a model: the price that the user configured, otherwise the price in the
// embedded list.
type Prices struct {
	asOf     string
	unknown  Price
	own      map[string]Price
	vendors  map[string]map[string]Price // vendor -> model -> price
	hosts    map[string]string           // maps a host to its vendor
	names    map[string]vendorNames      // keyed by vendor
	patterns []string                    // keys of own, most specific first
}

// vendorNames describes how the model names in a vendor's API differ from those in the price list.
type vendorNames struct {
	// VendorFirst means that the vendor resells models of other vendors: each name begins with the
	// other vendor's name and a slash.
	VendorFirst bool `json:"vendor_first"`
	// Free is the suffix of the names of free models.
	Free string `json:"free"`
	// Dots is the replacement for dots in a reseller's model names.
	Dots string `json:"dots"`
	// Prefix is an optional prefix of the names.
	Prefix string `json:"prefix"`
}

// NewPrices parses the embedded list. own holds the user's prices by "provider/model", where *
// matches any string.
func NewPrices(own map[string]Price) (*Prices, error) {
	var f struct {
		AsOf    string                      `json:"as_of"`
		Unknown Price                       `json:"unknown"`
		Hosts   map[string]string           `json:"hosts"`
		Names   map[string]vendorNames      `json:"names"`
		Models  map[string]map[string]Price `json:"models"`
	}
	if err := json.Unmarshal(priceList, &f); err != nil {
		return nil, fmt.Errorf("usage: read price list: %w", err)
	}
	if f.AsOf == "" || f.Unknown.Output == 0 {
		return nil, errors.New("usage: the price list has no date, or no price for unknown models")
	}
	p := &Prices{asOf: f.AsOf, unknown: f.Unknown, own: own, vendors: f.Models, hosts: f.Hosts, names: f.Names}
	for k := range own {
		p.patterns = append(p.patterns, k)
	}
	sorting.ByFunc(p.patterns, func(a, b string) int { // exact names before patterns, long patterns before short ones
		if sa, sb := strings.Contains(a, "*"), strings.Contains(b, "*"); sa != sb {
			if sa {
				return 1
			}
			return -1
		}
		return len(b) - len(a)
	})
	return p, nil
}

// OwnPrices returns the prices from the [prices] section.
func OwnPrices(list []config.Price) map[string]Price {
	own := map[string]Price{}
	for _, p := range list {
		own[p.Name] = Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	}
	return own
}

// AsOf returns the date of the price list as YYYY-MM-DD.
func (p *Prices) AsOf() string { return p.asOf }

// Unknown returns the price at which models without a price count toward the caps.
func (p *Prices) Unknown() Price { return p.unknown }

// Of returns the price of a model. host is the provider's host, such as "api.openai.com"; a model
// name is meaningful only for its host.
func (p *Prices) Of(info llm.Info, host string) (Price, bool) {
	for _, k := range p.patterns {
		if matchesPattern(k, info.Name()) {
			return p.own[k], true
		}
	}
	if info.Local {
		return Price{}, true
	}
	vendor, model := p.hosts[strings.ToLower(host)], strings.ToLower(info.Model)
	if n := p.names[vendor]; n.VendorFirst {
		if n.Free != "" && strings.HasSuffix(model, n.Free) {
			return Price{}, true
		}
		vendor, model, _ = strings.Cut(model, "/")
		if dots := p.names[vendor].Dots; dots != "" {
			model = strings.ReplaceAll(model, ".", dots)
		}
	}
	model = strings.TrimPrefix(model, p.names[vendor].Prefix)
	list := p.vendors[vendor]
	if price, ok := list[model]; ok {
		return price, true
	}
	price, ok := list[stripDate(model)]
	return price, ok
}

// stripDate removes a date, "latest" or "preview" from the end of a name, as in
// claude-sonnet-4-20250514, gpt-4o-2024-08-06, gemini-2.5-flash-preview-05-20 and
// mistral-small-latest. Any other suffix means a different model with its own price.
func stripDate(model string) string {
	for {
		i := strings.LastIndexByte(model, '-')
		if i <= 0 {
			return model
		}
		switch end := model[i+1:]; {
		case end == "latest", end == "preview", isDigits(end) && (len(end)%2 == 0 || end[0] == '0'):
			model = model[:i]
		default:
			return model
		}
	}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// matchesPattern reports whether name matches a pattern in which * matches any string.
func matchesPattern(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for i := 0; i <= len(name); i++ {
		if matchesPattern(rest, name[i:]) {
			return true
		}
	}
	return false
}
