package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/currency"

	"hob/platform/host/command"
	"hob/platform/host/system"
	"hob/platform/net/safehttp"
	"hob/platform/text/lazyregexp"
)

var (
	validName  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	validAgent = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`) // also used as a folder name
	validSize  = lazyregexp.New(`^[1-9][0-9]{0,6}[kmg]$`)
)

// maxSendDelay is the maximum delay of a message to another person.
const maxSendDelay = time.Hour

// maxSettle is how long a message may wait for the next one.
const maxSettle = 30 * time.Second

// checker collects errors about values that have the right type.
type checker struct {
	c    *Config
	errs Errors
}

func (c *Config) validateConfig() Errors {
	k := &checker{c: c}
	k.checkAgent()
	k.checkAutonomy()
	k.checkPlan()
	k.checkBudget()
	k.checkFiles()
	k.requireBetween("knowledge.summary_chars", c.Knowledge.SummaryChars, 4000, 2_000_000)
	k.requireBetween("knowledge.summary_keep", c.Knowledge.SummaryKeep, 2, 200)
	k.checkExtraction()
	k.checkIndex()
	k.checkDocuments()
	k.checkSemanticSearch()
	k.checkRanking()
	k.checkProviders()
	k.checkChannels()
	k.checkAccounts()
	k.checkDatabases()
	k.checkEgress()
	k.checkNotify()
	k.checkCrew()
	k.checkMCP()
	k.checkA2A()
	k.checkLevels()
	k.checkRoles()
	k.checkHooks()
	k.checkShell()
	k.checkNetwork()
	k.checkBrowser()
	k.checkStore()
	k.checkPim()
	k.checkUpdate()
	k.checkWatchers()
	k.oneOf("tray.enabled", c.Tray.Enabled, "auto", "off")
	k.oneOf("tray.icons", c.Tray.Icons, "colour", "light", "dark")
	k.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	k.checkWeb()
	return k.errs
}

func (k *checker) requireValid(key string, ok bool, format string, args ...any) {
	if !ok {
		k.errs = append(k.errs, k.c.Errorf(key, format, args...))
	}
}

func (k *checker) oneOf(key, v string, accepted ...string) {
	for _, a := range accepted {
		if v == a {
			return
		}
	}
	msg := "must be one of " + strings.Join(accepted, ", ")
	if near := nearestName(v, accepted); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	}
	k.requireValid(key, false, "%s", msg)
}

func (k *checker) requireBetween(key string, v, from, to int) {
	k.requireValid(key, v >= from && v <= to, "must be between %d and %d", from, to)
}

func (k *checker) checkAgent() {
	a := k.c.Agent
	k.requireValid("agent.name", oneLine(a.Name) && utf8.RuneCountInString(a.Name) <= 64, "must be a name on one line, at most 64 characters long")
	k.requireValid("agent.model", a.Model == "auto" || k.modelName(a.Model), `must be "auto", "offline", "provider/model" or the name of a provider`)
	k.checkFallback("agent.fallback", a.Fallback)
	k.requireValid("agent.small_model", a.SmallModel == "" || k.modelName(a.SmallModel), `must be "provider/model", or empty for off`)
	if _, err := system.Zone(a.Timezone); err != nil {
		k.requireValid("agent.timezone", false, "%s", strings.TrimPrefix(err.Error(), strconv.Quote(a.Timezone)+" is "))
	}
	_, err := currency.ParseISO(a.Currency)
	k.requireValid("agent.currency", a.Currency == "" || err == nil, `must be a code such as "EUR" or "USD", or empty for the currency of your country`)
	k.requireBetween("agent.max_rounds", a.MaxRounds, 1, 100)
	k.requireBetween("agent.max_tokens_per_turn", a.MaxTokensPerTurn, 256, 1_000_000)
	k.requireBetween("agent.max_tool_failures", a.MaxToolFailures, 1, 20)
}

func oneLine(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, unicode.IsControl)
}

// NoFallback as the last entry of the fallback models means that the built-in brain does not answer
// if no model can be reached.
const NoFallback = "none"

func (k *checker) checkFallback(key string, models []string) {
	for i, m := range models {
		if m == NoFallback {
			k.requireValid(key, i == len(models)-1, `"none" must be the last entry`)
			continue
		}
		k.requireValid(key, k.modelName(m), `%q must be "offline", "none", "provider/model" or the name of a provider`, m)
	}
}

// FallbackModels returns the entries of a fallback list that are names of models.
func FallbackModels(list []string) []string {
	if n := len(list); n > 0 && list[n-1] == NoFallback {
		return list[:n-1]
	}
	return list
}

// modelName reports whether s is a valid model name. It also accepts the name of an existing
// provider alone.
func (k *checker) modelName(s string) bool {
	p, m, ok := strings.Cut(s, "/")
	_, there := k.c.Provider(s)
	return s == "offline" || there || (ok && validName.MatchString(p) && oneLine(m))
}

func (k *checker) checkBudget() {
	b := k.c.Budget
	k.checkAmount("budget.daily_usd", b.DailyUSD)
	k.checkAmount("budget.monthly_usd", b.MonthlyUSD)
	k.requireValid("budget.daily_tokens", b.DailyTokens >= 0, "must not be negative; 0 means no limit")
	k.requireValid("budget.warn_at", b.WarnAt >= 0 && b.WarnAt <= 1, "must be between 0 and 1: 0.8 warns when four fifths of a cap are used")
	for _, p := range k.c.Prices {
		key := joinKey([]string{"prices", p.Name})
		k.requireValid(key, oneLine(p.Name) && (strings.Contains(p.Name, "/") || strings.Contains(p.Name, "*")), `write it as [prices."provider/model"]; * matches anything`)
		for name, v := range map[string]float64{"input": p.Input, "output": p.Output, "cache_read": p.CacheRead, "cache_write": p.CacheWrite} {
			k.checkAmount(key+"."+name, v)
		}
	}
}

// checkAmount checks an amount in US dollars. Its comparison also rejects NaN.
func (k *checker) checkAmount(key string, v float64) {
	k.requireValid(key, v >= 0 && v <= 1_000_000, "must be an amount in US dollars from 0 to 1000000, such as 2.5")
}

func (k *checker) checkPlan() {
	p := k.c.Plan
	_, err := time.Parse("15:04", p.At)
	k.requireValid("plan.at", p.At == "" || err == nil && len(p.At) == len("07:00"), `must be a time of day such as "07:00", or empty`)
	k.requireValid("plan.place", len(p.Place) <= 100 && (p.Place == "" || oneLine(p.Place)), `must be a town such as "Vilnius", or coordinates such as "54.69,25.28", on one line`)
	k.requireValid("plan.late", p.Late.Duration >= time.Minute && p.Late.Duration <= 24*time.Hour, `must be between "1m" and "24h"`)
}

func (k *checker) checkAutonomy() {
	a := k.c.Autonomy
	k.requireValid("autonomy.tick", a.Tick.Duration >= time.Second && a.Tick.Duration <= 24*time.Hour, `must be between "1s" and "24h"`)
	k.requireValid("autonomy.send_delay", a.SendDelay.Duration >= 0 && a.SendDelay.Duration <= maxSendDelay, `must be a duration from "0s" to "1h"`)
	k.requireBetween("autonomy.sessions", a.Sessions, 1, 64)
	k.requireBetween("autonomy.calls_per_minute", a.CallsPerMinute, 0, 1000)
	k.requireBetween("autonomy.guest_messages", a.GuestMessages, 1, 1000)
	k.requireBetween("autonomy.max_goals", a.MaxGoals, 1, 1000)
	k.requireBetween("autonomy.goal_backoff", a.GoalBackoff, 1, 100)
	k.requireValid("autonomy.keep_traces", a.KeepTraces.Duration == 0 || a.KeepTraces.Duration >= time.Hour && a.KeepTraces.Duration <= 3650*24*time.Hour, `must be "0s", or between "1h" and "3650d"`)
	for key, v := range map[string]float64{"read": a.Confidence.Read, "write": a.Confidence.Write, "send": a.Confidence.Send, "destroy": a.Confidence.Destroy} {
		k.requireValid("autonomy.confidence."+key, v > 0 && v <= 1, "must be greater than 0 and at most 1")
	}
	k.c.Autonomy.DaysOff = k.expandFolders("autonomy.days_off", a.DaysOff)
	k.oneOf("autonomy.groups", string(a.Groups), string(PerPerson), string(PerChat))
	k.oneOf("autonomy.level", string(a.Level), string(Watch), string(Supervised), string(Trusted))
}

func (k *checker) checkFiles() {
	f := &k.c.Files
	f.Allowed = k.expandFolders("files.allowed", f.Allowed)
	f.Trusted = k.expandFolders("files.trusted", f.Trusted)
	if d := k.expandFolders("files.drop", []string{f.Drop}); len(d) > 0 {
		f.Drop = d[0]
	}
}

func (k *checker) checkShell() {
	s := k.c.Shell
	k.oneOf("shell.sandbox", s.Sandbox, command.Auto, command.Off, command.Require)
	for _, entry := range s.Allow {
		if err := command.CheckAllow(entry); err != nil {
			k.requireValid("shell.allow", false, "%v", err)
		}
	}
}

// expandFolders expands "~". If there is no home folder, the defaults are empty.
func (k *checker) expandFolders(key string, in []string) []string {
	var out []string
	written := k.c.doc.findEntry(strings.Split(key, ".")) != nil
	for _, p := range in {
		abs, err := system.Expand(p)
		switch {
		case err != nil && written:
			k.requireValid(key, false, "%v", err)
		case err != nil:
		case p == "" || !filepath.IsAbs(abs):
			k.requireValid(key, false, `%q must be a full path such as "~/Documents"`, p)
		default:
			out = append(out, abs)
		}
	}
	return out
}

func (k *checker) checkProviders() {
	for _, p := range k.c.Providers {
		key := "providers." + p.Name
		k.checkName(key, p.Name)
		k.requireValid(key+".kind", p.Kind != "", "the provider has no kind; docs/configuration.md lists the kinds")
		k.requireValid(key+".max_tokens", p.MaxTokens >= 0, "must not be negative; 0 means that Hob chooses")
		k.requireValid(key+".context", p.Context >= 0, "must not be negative; 0 means unknown")
		k.requireValid(key+".stall", p.Stall.Duration >= 0, "must not be negative; \"0s\" means that Hob chooses")
		if p.BaseURL != "" {
			u, err := url.Parse(p.BaseURL)
			k.requireValid(key+".base_url", err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "",
				`must be an address such as "http://127.0.0.1:11434/v1"`)
		}
	}
}

// checkEgress checks the settings for access to addresses that other people chose, and the search
// provider.
func (k *checker) checkEgress() {
	n, s := k.c.Network, k.c.Search
	for _, a := range n.Allow {
		if err := safehttp.ParseAllow(a); err != nil {
			k.requireValid("network.allow", false, "%v", err)
		}
	}
	if _, err := safehttp.ParseProxy(n.Proxy); err != nil && !system.IsReference(n.Proxy) {
		k.requireValid("network.proxy", false, "%v", err)
	}
	if g := &k.c.Guard; g.Guardian == "" {
		g.Guardian = "off"
	} else {
		provider, model, _ := strings.Cut(g.Guardian, "/")
		k.requireValid("guard.guardian", g.Guardian == "off" || provider != "" && model != "", `must be "off" or "provider/model"`)
	}
	k.oneOf("search.provider", s.Provider, "auto", "tavily", "brave", "searxng", "duckduckgo")
	k.requireValid("search.base_url", s.Provider != "searxng" || s.BaseURL != "", "SearXNG needs the address of an instance; set search.base_url")
	if s.BaseURL != "" {
		u, err := url.Parse(s.BaseURL)
		k.requireValid("search.base_url", err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "", `must be an address such as "http://127.0.0.1:8888"`)
	}
	t := k.c.Travel
	k.oneOf("travel.flights_api", t.FlightsAPI, "aviationstack", "aeroapi")
	for key, address := range map[string]string{"travel.routes_url": strings.ReplaceAll(t.RoutesURL, "{profile}", "car"), "travel.geocoder_url": t.GeocoderURL, "travel.flights_url": t.FlightsURL} {
		u, err := url.Parse(address)
		k.requireValid(key, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "", `must be an address such as "https://routes.example.org"`)
	}
}

func (k *checker) checkChannels() {
	for _, s := range k.c.Channels {
		key := "channels." + s.Name
		k.checkName(key, s.Name)
		keys := k.c.file.Channels[s.Name]
		for _, name := range []string{"enabled", "mention", "stream"} {
			if v, there := keys[name]; there {
				_, ok := v.(bool)
				k.requireValid(key+"."+name, ok, "must be true or false")
			}
		}
		k.checkDuration(key+".send_delay", keys["send_delay"], maxSendDelay, `must be a duration from "0s" to "1h"`)
		k.checkDuration(key+".settle", keys["settle"], maxSettle, `must be a duration from "0s" (off) to "30s"`)
	}
	for _, t := range k.c.Triggers {
		key := "triggers." + t.Name
		k.checkName(key, t.Name)
		if t.Signature != "any" && t.Signature != "body" { // values from older versions; the doctor reports them
			k.oneOf(key+".signature", t.Signature, "v1")
		}
		k.requireValid(key+".action", strings.TrimSpace(t.Action) != "", "the trigger has no action; describe in plain words what to do when it fires")
	}
}

// checkDuration checks a duration in a channel section. Nil means that the duration is not set.
func (k *checker) checkDuration(key string, v any, most time.Duration, msg string) {
	if v == nil {
		return
	}
	text, ok := v.(string)
	var d Duration
	k.requireValid(key, ok && d.UnmarshalText([]byte(text)) == nil && d.Duration >= 0 && d.Duration <= most, "%s", msg)
}

func (k *checker) checkName(key, name string) {
	k.requireValid(key, validName.MatchString(name), "a name may contain only letters, digits, - and _, and may be at most 64 characters long")
}

// checkWeb allows access from other machines only with TLS and a password.
func (k *checker) checkWeb() {
	w := &k.c.Web
	alone, err := isLoopback(w.Listen)
	if err != nil {
		k.requireValid("web.listen", false, "%v", err)
		return
	}
	for key, path := range map[string]*string{"web.tls_cert": &w.TLSCert, "web.tls_key": &w.TLSKey} {
		if *path == "" {
			continue
		}
		abs, err := system.Expand(*path)
		k.requireValid(key, err == nil && filepath.IsAbs(abs), `must be a full path such as "~/.config/hob/cert.pem"`)
		*path = abs
	}
	k.requireValid("web.tls_cert", (w.TLSCert == "") == (w.TLSKey == ""), "tls_cert and tls_key must be set together")
	short := w.Password != "" && !system.IsReference(w.Password) && utf8.RuneCountInString(w.Password) < 12
	k.requireValid("web.password", !short, "must be at least 12 characters long")
	k.requireValid("web.listen", alone || w.TLSCert != "" && w.TLSKey != "" && w.Password != "",
		"other machines could reach this address, which requires tls_cert, tls_key and password; without them use a loopback address such as \"127.0.0.1:7717\"")
	for _, h := range w.Hosts {
		k.requireValid("web.hosts", hostName(h), `%q must be a host name without port or *, such as "hob.example.org"`, h)
	}
}

func hostName(s string) bool {
	odd := func(r rune) bool {
		return r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, odd)
}

// isLoopback reports whether listen is an address that other machines cannot reach.
func isLoopback(listen string) (bool, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return false, fmt.Errorf("must be an address and a port such as \"127.0.0.1:7717\"")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, fmt.Errorf("the port must be a number from 0 to 65535, not %q", port)
	} else if n > 65535 {
		return false, fmt.Errorf("the port must be at most 65535")
	}
	if host == "localhost" {
		return true, nil
	}
	if host == "" {
		return false, nil
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return false, fmt.Errorf("must be an address of this machine, not the name %q", host)
	}
	return a.Unmap().IsLoopback(), nil
}
