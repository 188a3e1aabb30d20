package usage

import (
	"encoding/json"
	"testing"
	"time"

	"hob/autonomy/llm"
)

func newPrices(t testing.TB, own map[string]Price) *Prices {
	t.Helper()
	p, err := NewPrices(own)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPrices_OfAModel(t *testing.T) {
	own := map[string]Price{"work/*": {Input: 7, Output: 8}, "work/special": {Input: 1, Output: 2}, "lan/*": {}, "anthropic/claude-haiku-4-5": {Input: 0.5, Output: 2}}
	p := newPrices(t, own)
	for _, tt := range []struct {
		name, provider, model, host string
		local                       bool
		input                       float64
		known                       bool
	}{
		{"by its name", "anthropic", "claude-sonnet-4-5", "api.anthropic.com", false, 3, true},
		{"with a date", "anthropic", "claude-sonnet-4-5-20250929", "api.anthropic.com", false, 3, true},
		{"with a date in pieces", "openai", "gpt-4o-2024-08-06", "api.openai.com", false, 2.5, true},
		{"the newest of a kind", "a", "claude-3-5-haiku-latest", "api.anthropic.com", false, 0.8, true},
		{"a preview with a date", "g", "gemini-2.5-flash-preview-05-20", "generativelanguage.googleapis.com", false, 0.3, true},
		{"a number of three", "g", "gemini-2.0-flash-001", "generativelanguage.googleapis.com", false, 0.1, true},
		{"as the provider writes it", "g", "models/gemini-2.5-pro", "generativelanguage.googleapis.com", false, 1.25, true},
		{"the standard one of Anthropic", "anthropic", "claude-sonnet-5-5", "api.anthropic.com", false, 2, true},
		{"the standard one of Google", "gemini", "gemini-flash-latest", "generativelanguage.googleapis.com", false, 1.5, true},
		{"the standard one of OpenAI", "openai", "gpt-5-mini", "api.openai.com", false, 0.25, true},
		{"a smaller one is another model", "openai", "gpt-4o-mini", "api.openai.com", false, 0.15, true},
		{"an unknown ending is another model", "openai", "gpt-4o-audio", "api.openai.com", false, 0, false},
		{"a name at another host is another model", "proxy", "gpt-4o", "llm.example", false, 0, false},
		{"through a router", "or", "openai/gpt-5-mini", "openrouter.ai", false, 0.25, true},
		{"through a router with dots", "or", "anthropic/claude-3.7-sonnet", "openrouter.ai", false, 3, true},
		{"free at a router", "or", "meta/llama-9:free", "openrouter.ai", false, 0, true},
		{"any model of a router", "or", "openrouter/auto", "openrouter.ai", false, 0, false},
		{"on this machine", "ollama", "llama3.2", "127.0.0.1", true, 0, true},
		{"the owner's", "work", "special", "api.openai.com", false, 1, true},
		{"the user's price for all models of a provider", "work", "gpt-4o", "api.openai.com", false, 7, true},
		{"the user's price before the list", "anthropic", "claude-haiku-4-5", "api.anthropic.com", false, 0.5, true},
		{"the user's free server", "lan", "qwen", "192.168.1.5", false, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := p.Of(llm.Info{Provider: tt.provider, Model: tt.model, Local: tt.local}, tt.host)
			if ok != tt.known || got.Input != tt.input {
				t.Errorf("%v, %v; want %v, %v", got.Input, ok, tt.input, tt.known)
			}
		})
	}
}

func TestCost(t *testing.T) {
	sonnet := Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, Over: 200_000, Long: &Price{Input: 6, Output: 22.5}}
	for _, tt := range []struct {
		name  string
		price Price
		usage llm.Usage
		want  Micros
	}{
		{"nothing", sonnet, llm.Usage{}, 0},
		{"plain", sonnet, llm.Usage{Input: 1000, Output: 100}, 4500},
		{"cached tokens are part of the input", sonnet, llm.Usage{Input: 1000, CacheRead: 800, CacheWrite: 100, Output: 10}, 300 + 240 + 375 + 150},
		{"without a price for the cache", Price{Input: 2, Output: 8}, llm.Usage{Input: 1000, CacheRead: 800}, 2000},
		{"rounded up", Price{Input: 0.05, Output: 0.4}, llm.Usage{Input: 1}, 1},
		{"a long conversation", sonnet, llm.Usage{Input: 300_000, Output: 1000}, 1_800_000 + 22_500},
		{"free", Price{}, llm.Usage{Input: 1e6, Output: 1e6}, 0},
	} {
		if got := tt.price.Cost(tt.usage); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// The price list is data, and only this test checks it.
func TestPrices_ListIsComplete(t *testing.T) {
	p := newPrices(t, nil)
	day, err := time.Parse(time.DateOnly, p.AsOf())
	if err != nil || day.Year() < 2025 {
		t.Errorf("date of the list = %q: %v", p.AsOf(), err)
	}
	vendors := map[string]bool{"openrouter": true}
	for v, models := range p.vendors {
		vendors[v] = true
		for name, m := range models {
			if m.Input <= 0 || m.Output < m.Input || m.CacheRead > m.Input || m.Input > p.unknown.Input*2 || (m.Long != nil && m.Long.Input < m.Input) {
				b, _ := json.Marshal(m)
				t.Errorf("%s/%s costs %s?", v, name, b)
			}
			if stripDate(name) != name && models[stripDate(name)] == (Price{}) {
				t.Errorf("%s/%s has a dated name, but no entry without the date", v, name)
			}
		}
	}
	for host, v := range p.hosts {
		if !vendors[v] {
			t.Errorf("no prices for %s", host)
		}
	}
}

func TestMicros_String(t *testing.T) {
	for m, want := range map[Micros]string{0: "$0", 50: "under $0.0001", 4200: "$0.0042", 1_250_000: "$1.25", Dollars(0.1): "$0.10", -1_250_000: "-$1.25"} {
		if got := m.String(); got != want {
			t.Errorf("%d: %s, want %s", m, got, want)
		}
	}
}

// A day of the user's calendar has 23, 24 or 25 hours.
func TestCalendar(t *testing.T) {
	for _, tt := range []struct {
		name, zone, at, day, from string
	}{
		{"an ordinary day", "Europe/Vilnius", "2026-01-10T12:00:00Z", "2026-01-10", "2026-01-09T22:00:00Z"},
		{"clocks go forward", "Europe/Vilnius", "2026-03-29T20:59:59Z", "2026-03-29", "2026-03-28T22:00:00Z"},
		{"a second later", "Europe/Vilnius", "2026-03-29T21:00:00Z", "2026-03-30", "2026-03-29T21:00:00Z"},
		{"clocks go back", "Europe/Vilnius", "2026-10-25T21:30:00Z", "2026-10-25", "2026-10-24T21:00:00Z"},
		{"no midnight", "America/Santiago", "2026-09-06T10:00:00Z", "2026-09-06", "2026-09-06T04:00:00Z"},
		{"midnight twice", "America/Havana", "2026-11-01T12:00:00Z", "2026-11-01", "2026-11-01T04:00:00Z"},
		{"ahead of the world", "Pacific/Kiritimati", "2026-12-31T10:00:00Z", "2027-01-01", "2026-12-31T10:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			zone, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			at, _ := time.Parse(time.RFC3339, tt.at)
			day, from := dayOf(at, zone)
			if day != tt.day || from.UTC().Format(time.RFC3339) != tt.from {
				t.Errorf("%s from %s, want %s from %s", day, from.UTC().Format(time.RFC3339), tt.day, tt.from)
			}
			if again, _ := dayOf(from, zone); again != day {
				t.Errorf("the first instant of %s falls on %s", day, again)
			}
		})
	}
}
