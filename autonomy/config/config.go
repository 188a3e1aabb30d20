package config

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"hob/platform/host/system"
	"hob/platform/net/safehttp"
)

// Config is the complete configuration, with defaults filled in and "~" expanded. It does not
// change after loading.
type Config struct {
	Agent     Agent
	Providers []Provider // in file order
	Autonomy  Autonomy
	Budget    Budget
	Prices    []Price // in file order
	Notify    Notify
	Files     Files
	Shell     Shell
	Network   Network
	Watchers  Watchers
	Guard     Guard
	Knowledge Knowledge
	Search    Search
	Travel    Travel
	Browser   Browser
	Store     Store
	Update    Update
	Web       Web
	Tray      Tray
	Pim       Pim
	Accounts  []Account  // [accounts.NAME] sections, in file order
	Channels  []Section  // in file order
	Databases []Database // [databases.NAME] sections, in file order
	Triggers  []Trigger  // in file order
	Members   []Member   // [agents.NAME] sections, in file order
	Routes    []Route    // in file order
	Crew      Crew
	A2AAgents []A2AAgent // [a2a.agents.NAME] sections, in file order
	Plan      Plan
	Levels    []LevelRule // in file order
	People    []Person    // [people.NAME] sections, in file order
	Hooks     []Hook      // in file order
	Log       Log
	// Warnings lists problems that do not prevent a start.
	Warnings []string
	// Replaces is the error in the file if this is the last valid configuration, used instead of
	// the file; see Revisions.LoadOrLast.
	Replaces error

	doc        *document
	file       configFile
	mcpServers []MCPServer // in file order
}

// Agent is the [agent] section.
type Agent struct {
	Name             string   `toml:"name"`
	Model            string   `toml:"model"` // "auto", "offline" or "provider/model"
	Fallback         []string `toml:"fallback"`
	SmallModel       string   `toml:"small_model"` // "provider/model" for short plain messages; "" means off
	Currency         string   `toml:"currency"`    // ISO 4217 code; "" means the currency of the user's country
	Timezone         string   `toml:"timezone"`    // an IANA time zone or "Local"; see system.Zone
	MaxRounds        int      `toml:"max_rounds"`
	MaxTokensPerTurn int      `toml:"max_tokens_per_turn"`
	MaxToolFailures  int      `toml:"max_tool_failures"`
}

// Provider is one [providers.NAME] section.
type Provider struct {
	Name      string `toml:"-"`
	Kind      string `toml:"kind"`    // name of the driver
	APIKey    string `toml:"api_key"` // a reference to the key, or the key itself; see system.Secrets
	BaseURL   string `toml:"base_url"`
	Model     string `toml:"model"`
	MaxTokens int    `toml:"max_tokens"`
	Context   int    `toml:"context"` // context window in tokens
	Stream    bool   `toml:"stream"`  // default true
	// Stall is the maximum time without output from the server.
	Stall Duration `toml:"stall"`
	// The remaining fields are for external agents; llm/all checks them.
	Preset  string   `toml:"preset"`
	Command string   `toml:"command"`
	Args    []string `toml:"args"`
	Env     []string `toml:"env"` // entries have the form "NAME" or "NAME=value"
	Cwd     string   `toml:"cwd"` // absolute path; "" means a folder of Hob
	Mode    string   `toml:"mode"`
	Auth    string   `toml:"auth"`
}

// Autonomy is the [autonomy] section.
type Autonomy struct {
	Enabled        bool       `toml:"enabled"`
	Tick           Duration   `toml:"tick"`
	Sessions       int        `toml:"sessions"`
	Level          Level      `toml:"level"`
	CallsPerMinute int        `toml:"calls_per_minute"`
	Groups         Groups     `toml:"groups"`
	SendDelay      Duration   `toml:"send_delay"`     // wait before a message to another person is sent; see Section
	Recipients     []string   `toml:"recipients"`     // normalized addresses of the allowed recipients at the level trusted
	GuestMessages  int        `toml:"guest_messages"` // messages per hour for each sender other than the owner
	MaxGoals       int        `toml:"max_goals"`
	GoalBackoff    int        `toml:"goal_backoff"` // maximum factor for growing the interval
	KeepTraces     Duration   `toml:"keep_traces"`
	DaysOff        []string   `toml:"days_off"` // absolute paths of calendar files
	Confidence     Confidence `toml:"confidence"`
}

// Confidence is [autonomy.confidence]: the minimum confidence, from 0 to 1, for an unattended
// action of a goal. It depends on the possible effect of the action.
type Confidence struct {
	Read    float64 `toml:"read"`
	Write   float64 `toml:"write"`
	Send    float64 `toml:"send"`
	Destroy float64 `toml:"destroy"`
}

// Plan is the section [plan]: the daily plan.
type Plan struct {
	At   string   `toml:"at"`   // "07:00"; "" means no plan
	Late Duration `toml:"late"` // maximum delay of the plan
	// Place is where the owner lives, for the weather; "" means none.
	Place string `toml:"place"`
}

// Groups determines who shares a conversation in a group chat.
type Groups string

// The ways to divide a group chat into conversations.
const (
	PerPerson Groups = "person"
	PerChat   Groups = "chat"
)

// Budget is the section [budget]; 0 means no limit.
type Budget struct {
	DailyUSD    float64 `toml:"daily_usd"`
	MonthlyUSD  float64 `toml:"monthly_usd"`
	DailyTokens int     `toml:"daily_tokens"`
	WarnAt      float64 `toml:"warn_at"` // fraction of a cap; 0 means never
}

// Price is one [prices."provider/model"] section, in US dollars per million tokens.
type Price struct {
	Name       string  `toml:"-"` // "*" matches any characters
	Input      float64 `toml:"input"`
	Output     float64 `toml:"output"`
	CacheRead  float64 `toml:"cache_read"` // 0 means the same as Input
	CacheWrite float64 `toml:"cache_write"`
}

// Level is how much Hob may do without asking.
type Level string

// Autonomy levels.
const (
	Watch      Level = "watch"
	Supervised Level = "supervised"
	Trusted    Level = "trusted"
)

// Files is the section [files]. Its paths are absolute.
type Files struct {
	Allowed []string `toml:"allowed"`
	Trusted []string `toml:"trusted"`
	Drop    string   `toml:"drop"`
}

// Shell is the section [shell]: commands.
type Shell struct {
	Allow   []string `toml:"allow"`   // for example "npm test": a program and the beginning of its arguments
	Sandbox string   `toml:"sandbox"` // "auto", "off" or "require"
}

// Network is the section [network]: access to addresses that other people chose.
type Network struct {
	AllowHosts    []string `toml:"allow_hosts"` // in lower case: "example.org", "*.example.org"
	Research      bool     `toml:"research"`    // whether unattended turns may search the web and follow unchanged links
	Allow         []string `toml:"allow"`       // "host:port" entries inside the owner's network
	Proxy         string   `toml:"proxy"`       // a URL or a reference to one; "" means none
	ProxyResolves bool     `toml:"proxy_resolves"`
	Rates         string   `toml:"rates"` // address of the exchange rates
}

// Client returns the HTTP client for public addresses. The configured proxy may be a reference to a
// secret.
func (n Network) Client(ctx context.Context, s system.Secrets) (*safehttp.Client, error) {
	return n.OpenClient(ctx, safehttp.Options{}, s.Reveal)
}

// OpenClient returns the HTTP client with the other options in o. secret resolves a reference.
func (n Network) OpenClient(ctx context.Context, o safehttp.Options, secret func(ctx context.Context, ref string) (string, error)) (_ *safehttp.Client, err error) {
	o.Allow, o.ProxyResolves, o.Proxy = n.Allow, n.ProxyResolves, n.Proxy
	if system.IsReference(n.Proxy) { // a plain address is not a secret that logs must omit
		if o.Proxy, err = secret(ctx, n.Proxy); err != nil {
			return nil, fmt.Errorf("[network] proxy: %w", err)
		}
	}
	return safehttp.New(o)
}

// Guard is the section [guard]: the handling of untrusted text that looks like an attack. The
// guard's decisions do not depend on these settings.
type Guard struct {
	Block    bool   `toml:"block"`    // whether to withhold text that looks like an attack
	Guardian string `toml:"guardian"` // "off", or "provider/model" for the model that rates each text
}

// LevelRule is one [[levels]] entry: the autonomy level for a channel or a person. All fields that
// are set must match. If several entries match, the most restrictive one applies.
type LevelRule struct {
	Channel string `toml:"channel"`
	Person  string `toml:"person"` // "owner", or a sender id such as "channel:id"
	Level   Level  `toml:"level"`
}

// Knowledge is the [knowledge] section.
type Knowledge struct {
	SummaryChars int `toml:"summary_chars"` // conversations longer than this are summarized
	SummaryKeep  int `toml:"summary_keep"`  // number of newest messages, which are never summarized

	Embeddings      string   `toml:"embeddings"`        // "off" or "provider/model"
	QueryPrefix     string   `toml:"query_prefix"`      // "auto" means chosen for the model
	DocumentPrefix  string   `toml:"document_prefix"`   // "auto" means chosen for the model
	EmbeddingChars  int      `toml:"embedding_chars"`   // maximum characters per input of the embedder
	EmbeddingBatch  int      `toml:"embedding_batch"`   // number of inputs per call
	QueryTimeout    Duration `toml:"query_timeout"`     // maximum time that a search waits for the vector of its query
	VectorFirstPass string   `toml:"vector_first_pass"` // "auto", "on" or "off"
	VectorRescored  int      `toml:"vector_rescored"`   // number of candidates in the first pass
	Corrective      string   `toml:"corrective"`        // "off", "auto" or "provider/model"
	Reranker        string   `toml:"reranker"`          // "off", "auto" or "provider/model"
	RerankHits      int      `toml:"rerank_hits"`
	RefineTimeout   Duration `toml:"refine_timeout"` // time limit for the corrective model, and separately for the reranker

	TitleWeight   int      `toml:"title_weight"`   // weight of a word in the title, relative to a word in the text
	SpeakerWeight int      `toml:"speaker_weight"` // weight of a word in the speaker's name, relative to a word in the text
	IndexPostings int      `toml:"index_postings"` // maximum number of rows that a search reads
	IndexDelay    Duration `toml:"index_delay"`    // how long changes are collected before they are indexed

	Extraction      string   `toml:"extraction"`       // "auto", "rules", "model" or "off"
	ExtractionTurns int      `toml:"extraction_turns"` // number of turns per model request
	ExtractionWait  Duration `toml:"extraction_wait"`  // maximum wait for a full batch
	ConsolidateAt   string   `toml:"consolidate_at"`   // time of day of the nightly consolidation; "" disables it
	MemoryFiles     bool     `toml:"memory_files"`     // whether USER.md and MEMORY.md are kept in step with the memory
	ForgetMost      int      `toml:"forget_most"`      // maximum number of facts and rows that one deletion request may change

	Folders      []string `toml:"folders"`  // folders whose documents are kept up to date in the library
	MaxFile      Size     `toml:"max_file"` // larger documents are not read
	Pictures     string   `toml:"pictures"` // "auto" or "off"
	ChunkSize    int      `toml:"chunk_size"`
	ChunkOverlap int      `toml:"chunk_overlap"`

	Ranking Ranking `toml:"ranking"`
}

// Search is the section [search]: the web search provider.
type Search struct {
	Provider string `toml:"provider"` // "auto", "tavily", "brave", "searxng" or "duckduckgo"
	Key      string `toml:"key"`      // a reference to the key, or the key itself
	BaseURL  string `toml:"base_url"` // address of a SearXNG instance
}

// Travel is the [travel] section: the services for routes and flights.
type Travel struct {
	RoutesURL   string `toml:"routes_url"`   // OSRM server; "{profile}" is car, bike or foot
	GeocoderURL string `toml:"geocoder_url"` // Nominatim server
	FlightsURL  string `toml:"flights_url"`
	FlightsAPI  string `toml:"flights_api"` // "aviationstack" or "aeroapi"
	FlightsKey  string `toml:"flights_key"` // a reference to the key, or the key itself
}

// Web is the [web] section.
type Web struct {
	Listen string `toml:"listen"` // host:port; port 0 picks a free port
	// TLSCert and TLSKey are paths of PEM files. Password is a reference to the password, or the
	// password itself. If one of the three is missing, the server listens only on loopback.
	TLSCert  string   `toml:"tls_cert"`
	TLSKey   string   `toml:"tls_key"`
	Password string   `toml:"password"`
	Hosts    []string `toml:"hosts"` // additional host names that clients may use
}

// OwnHosts returns the names and addresses under which the page is served.
func (w Web) OwnHosts() []string {
	if host, _, err := net.SplitHostPort(w.Listen); err == nil {
		return append(slices.Clone(w.Hosts), host)
	}
	return w.Hosts
}

// Tray is the [tray] section.
type Tray struct {
	Enabled string `toml:"enabled"` // "auto" or "off"
	Icons   string `toml:"icons"`   // "colour", "light" or "dark"
}

// Trigger is one [triggers.NAME] section.
type Trigger struct {
	Name   string `toml:"-"`
	Secret string `toml:"secret"` // a reference to the secret, or the secret itself; "" means that only Hob's token is accepted
	// Signature is obsolete: each call is signed with its time and key.
	Signature string `toml:"signature"`
	Action    string `toml:"action"`
	Session   string `toml:"session"` // "" means the session in which the owner last wrote
}

// Log is the [log] section.
type Log struct {
	Level string `toml:"level"` // debug, info, warn or error
}

// configFile describes the layout of config.toml.
type configFile struct {
	Agent     Agent                     `toml:"agent"`
	Providers map[string]Provider       `toml:"providers"`
	Autonomy  Autonomy                  `toml:"autonomy"`
	Plan      Plan                      `toml:"plan"`
	Budget    Budget                    `toml:"budget"`
	Prices    map[string]Price          `toml:"prices"`
	Notify    Notify                    `toml:"notify"`
	Files     Files                     `toml:"files"`
	Shell     Shell                     `toml:"shell"`
	Network   Network                   `toml:"network"`
	Watchers  Watchers                  `toml:"watchers"`
	Guard     Guard                     `toml:"guard"`
	Knowledge Knowledge                 `toml:"knowledge"`
	Search    Search                    `toml:"search"`
	Travel    Travel                    `toml:"travel"`
	Browser   Browser                   `toml:"browser"`
	Update    Update                    `toml:"update"`
	Web       Web                       `toml:"web"`
	Tray      Tray                      `toml:"tray"`
	Pim       Pim                       `toml:"pim"`
	Channels  map[string]driverSection  `toml:"channels"`
	Accounts  map[string]accountSection `toml:"accounts"`
	Databases map[string]Database       `toml:"databases"`
	Triggers  map[string]Trigger        `toml:"triggers"`
	Agents    map[string]Member         `toml:"agents"`
	Routes    []Route                   `toml:"routes"`
	Crew      Crew                      `toml:"crew"`
	MCP       MCP                       `toml:"mcp"`
	A2A       A2A                       `toml:"a2a"`
	OpenAPI   map[string]OpenAPI        `toml:"openapi"`
	Levels    []LevelRule               `toml:"levels"`
	People    map[string]Person         `toml:"people"`
	Hooks     []Hook                    `toml:"hooks"`
	Store     Store                     `toml:"store"`
	Log       Log                       `toml:"log"`
}

// indexSections records the names and the order of the sections in the file.
func (c *Config) indexSections() {
	f := &c.file
	c.Agent, c.Autonomy, c.Notify, c.Files, c.Knowledge, c.Search, c.Web, c.Tray, c.Pim, c.Log, c.Travel = f.Agent, f.Autonomy, f.Notify, f.Files, f.Knowledge, f.Search, f.Web, f.Tray, f.Pim, f.Log, f.Travel
	c.Notify.parseQuietHours()
	c.Shell = f.Shell
	for _, n := range c.doc.subsectionNames("providers") {
		p, ok := f.Providers[n]
		if ok && c.doc.findEntry([]string{"providers", n, "stream"}) == nil {
			p.Stream = true // the default for a section whose name the user chooses
			f.Providers[n] = p
		}
		p.Name = n
		if abs, err := system.Expand(p.Cwd); err == nil && p.Cwd != "" {
			p.Cwd = abs
		}
		c.Providers = append(c.Providers, p)
	}
	c.Budget = f.Budget
	for _, n := range c.doc.subsectionNames("prices") {
		p := f.Prices[n]
		p.Name = n
		c.Prices = append(c.Prices, p)
	}
	for _, n := range c.doc.subsectionNames("accounts") {
		c.Accounts = append(c.Accounts, newAccount(n, f.Accounts[n]))
	}
	for _, n := range c.doc.subsectionNames("databases") {
		d := newDatabase(n, f.Databases[n])
		if _, ok := f.Databases[n]; ok {
			f.Databases[n] = d
		}
		c.Databases = append(c.Databases, d)
	}
	for _, n := range c.doc.subsectionNames("triggers") {
		t := f.Triggers[n]
		t.Signature = cmp.Or(t.Signature, "v1")
		t.Name = n
		c.Triggers = append(c.Triggers, t)
	}
	for _, n := range c.doc.subsectionNames("agents") {
		m := f.Agents[n]
		m.Name = n
		c.Members = append(c.Members, m)
	}
	for _, n := range c.doc.subsectionNames("people") {
		c.People = append(c.People, Person{Name: n, Roles: f.People[n].Roles})
	}
	c.Browser, c.Store, c.Update, c.Hooks = f.Browser, f.Store, f.Update, f.Hooks
	c.Routes, c.Crew, c.Levels, c.Network, c.Watchers, c.Guard, c.Plan = f.Routes, f.Crew, f.Levels, f.Network, f.Watchers, f.Guard, f.Plan
	c.indexMCP()
	c.indexA2A()
	for _, n := range c.doc.subsectionNames("channels") {
		c.Channels = append(c.Channels, c.readSection(n, f.Channels[n]))
	}
}

// Path returns the path of the loaded file.
func (c *Config) Path() string { return c.doc.file }

// SameText reports whether two configurations were parsed from the same text.
func (c *Config) SameText(other *Config) bool { return bytes.Equal(c.doc.text, other.doc.text) }

// NeedsRestart reports whether Hob must restart to replace c by other: a value outside
// [mcp.servers], which applies at once, differs. Comments do not count.
func (c *Config) NeedsRestart(other *Config) bool {
	var was, now map[string]any
	if toml.Unmarshal(c.doc.text, &was) != nil || toml.Unmarshal(other.doc.text, &now) != nil {
		return !c.SameText(other)
	}
	for _, values := range []map[string]any{was, now} {
		if mcp, ok := values["mcp"].(map[string]any); ok {
			if delete(mcp, "servers"); len(mcp) == 0 {
				delete(values, "mcp")
			}
		}
	}
	return len(was)+len(now) > 0 && !reflect.DeepEqual(was, now)
}

// Provider returns the provider called name.
func (c *Config) Provider(name string) (Provider, bool) {
	i := slices.IndexFunc(c.Providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return c.Providers[i], true
}

// Channel returns the section of the channel called name.
func (c *Config) Channel(name string) (Section, bool) {
	i := slices.IndexFunc(c.Channels, func(s Section) bool { return s.Name == name })
	if i < 0 {
		return Section{}, false
	}
	return c.Channels[i], true
}

// Errorf returns an error about a key, with its position in the file. It is for checks that need
// the list of drivers.
func (c *Config) Errorf(key, format string, args ...any) *Error {
	path := splitKey(key)
	e := &Error{File: c.doc.file, Line: c.doc.lineOf(path), Key: key, Msg: fmt.Sprintf(format, args...)}
	if at := c.doc.findEntry(path); at != nil {
		e.Msg = c.doc.formatValue(at) + e.Msg
	}
	return e
}

// SendDelay returns how long a message to another person on a channel can be canceled.
func (c *Config) SendDelay(channel string) time.Duration {
	if s, ok := c.Channel(channel); ok {
		return s.SendDelay.Duration
	}
	return c.Autonomy.SendDelay.Duration
}

// ReceivedFiles returns the folder in which files from messages are stored.
func (c *Config) ReceivedFiles(p system.Paths) string {
	if drop, err := system.Expand(c.Files.Drop); err == nil && drop != "" {
		return drop
	}
	return filepath.Join(p.Data, "files")
}

// CurrencyIn returns the configured currency, or else the currency of the user's country, which may
// be derived from the time zone.
func (c *Config) CurrencyIn(zone *time.Location) string {
	if c.Agent.Currency != "" {
		return strings.ToUpper(c.Agent.Currency)
	}
	return system.Currency(os.Getenv, zone.String())
}
