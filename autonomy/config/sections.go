package config

import (
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/pim/icsfeed"
)

// Browser is the section [browser]: the browser that Hob controls.
type Browser struct {
	Enabled  bool     `toml:"enabled"`
	Path     string   `toml:"path"` // absolute path; "" means the first browser found
	Headless bool     `toml:"headless"`
	Idle     Duration `toml:"idle"`
	MaxTabs  int      `toml:"max_tabs"`
}

func (k *checker) checkBrowser() {
	b := &k.c.Browser
	if b.Path != "" {
		abs, err := system.Expand(b.Path)
		k.requireValid("browser.path", err == nil && filepath.IsAbs(abs), `must be a full path such as "/usr/bin/chromium", or empty`)
		if err == nil {
			b.Path = abs
		}
	}
	k.requireValid("browser.idle", b.Idle.Duration >= time.Minute && b.Idle.Duration <= 24*time.Hour, `must be between "1m" and "24h"`)
	k.requireBetween("browser.max_tabs", b.MaxTabs, 1, 50)
}

// checkDocuments checks the document keys in [knowledge].
func (k *checker) checkDocuments() {
	n := &k.c.Knowledge
	n.Folders = k.expandFolders("knowledge.folders", n.Folders)
	k.requireValid("knowledge.max_file", n.MaxFile.Bytes >= 1<<10 && n.MaxFile.Bytes <= 200<<20, `must be between "1KB" and "200MB"`)
	k.oneOf("knowledge.pictures", n.Pictures, "auto", "off")
	k.requireBetween("knowledge.chunk_size", n.ChunkSize, 200, 8000)
	k.requireValid("knowledge.chunk_overlap", n.ChunkOverlap >= 0 && n.ChunkOverlap*2 <= n.ChunkSize, "must be between 0 and half of chunk_size")
}

// checkExtraction checks the keys in [knowledge] for extracting facts from the owner's messages and
// for tidying them.
func (k *checker) checkExtraction() {
	n := k.c.Knowledge
	k.oneOf("knowledge.extraction", n.Extraction, "auto", "rules", "model", "off")
	k.requireBetween("knowledge.extraction_turns", n.ExtractionTurns, 1, 50)
	d := n.ExtractionWait.Duration
	k.requireValid("knowledge.extraction_wait", d >= time.Second && d <= 24*time.Hour, `must be between "1s" and "24h"`)
	_, err := time.Parse("15:04", n.ConsolidateAt)
	k.requireValid("knowledge.consolidate_at", n.ConsolidateAt == "" || err == nil && len(n.ConsolidateAt) == len("03:30"), `must be a time of day such as "03:30", or empty`)
}

// checkIndex checks the word index keys in [knowledge].
func (k *checker) checkIndex() {
	n := k.c.Knowledge
	k.requireBetween("knowledge.title_weight", n.TitleWeight, 1, 10)
	k.requireBetween("knowledge.speaker_weight", n.SpeakerWeight, 1, 10)
	k.requireBetween("knowledge.index_postings", n.IndexPostings, 1000, 1_000_000)
	k.requireBetween("knowledge.forget_most", n.ForgetMost, 1, 100_000)
	d := n.IndexDelay.Duration
	k.requireValid("knowledge.index_delay", d >= 10*time.Millisecond && d <= time.Minute, `must be between "10ms" and "1m"`)
}

// checkSemanticSearch checks the keys in [knowledge] for vectors and reranking models.
func (k *checker) checkSemanticSearch() {
	n := k.c.Knowledge
	k.requireValid("knowledge.embeddings", n.Embeddings == "off" || n.Embeddings != "offline" && k.modelName(n.Embeddings),
		`must be "off", "provider/model" or the name of a provider`)
	for key, v := range map[string]string{"knowledge.query_prefix": n.QueryPrefix, "knowledge.document_prefix": n.DocumentPrefix} {
		k.requireValid(key, utf8.RuneCountInString(v) <= 500 && !strings.ContainsRune(v, 0), "must be at most 500 characters long")
	}
	k.requireBetween("knowledge.embedding_chars", n.EmbeddingChars, 200, 100_000)
	k.requireBetween("knowledge.embedding_batch", n.EmbeddingBatch, 1, 100)
	k.oneOf("knowledge.vector_first_pass", n.VectorFirstPass, "auto", "on", "off")
	k.requireBetween("knowledge.vector_rescored", n.VectorRescored, 20, 5000)
	for key, v := range map[string]string{"knowledge.corrective": n.Corrective, "knowledge.reranker": n.Reranker} {
		k.requireValid(key, v == "off" || v == "auto" || v != "offline" && k.modelName(v), `must be "off", "auto", "provider/model" or the name of a provider`)
	}
	k.requireBetween("knowledge.rerank_hits", n.RerankHits, 2, 50)
	for key, v := range map[string]Duration{"knowledge.query_timeout": n.QueryTimeout, "knowledge.refine_timeout": n.RefineTimeout} {
		k.requireValid(key, v.Duration >= 100*time.Millisecond && v.Duration <= time.Minute, `must be between "100ms" and "1m"`)
	}
}

// Store is the section [store]: where Hob keeps its data.
type Store struct {
	URL      string   `toml:"url"`      // "" means the SQLite file; otherwise "postgres://..." or a reference to it
	Instance string   `toml:"instance"` // name in the fleet; "" means the name of the host
	Lease    Duration `toml:"lease"`
}

func (k *checker) checkStore() {
	s := k.c.Store
	postgres := strings.HasPrefix(s.URL, "postgres://") || strings.HasPrefix(s.URL, "postgresql://")
	k.requireValid("store.url", s.URL == "" || postgres || system.IsReference(s.URL), `must be "postgres://user:password@host/name", a reference such as "env:HOB_STORE", or empty`)
	k.requireValid("store.instance", oneLine(s.Instance) && utf8.RuneCountInString(s.Instance) <= 64 || s.Instance == "", "must be a name on one line, at most 64 characters long")
	k.requireValid("store.lease", s.Lease.Duration >= 2*time.Second && s.Lease.Duration <= 5*time.Minute, `must be between "2s" and "5m"`)
}

// Pim is the section [pim]: the user's reminders and notes in other apps.
type Pim struct {
	Apps        bool   `toml:"apps"`
	Reminders   string `toml:"reminders"`    // "hob", or the name of an account or app
	Notes       string `toml:"notes"`        // "hob", or the name of an account or app
	NotesFolder string `toml:"notes_folder"` // absolute path; "" means none
	// CalendarFeeds are calendar subscriptions: an address, or a name and an address; see
	// icsfeed.Parse.
	CalendarFeeds []string `toml:"calendar_feeds"`
}

func (k *checker) checkPim() {
	p := &k.c.Pim
	for _, f := range p.CalendarFeeds {
		if _, _, err := icsfeed.Parse(f); err != nil {
			k.requireValid("pim.calendar_feeds", false, "%v", err)
		}
	}
	for key, v := range map[string]string{"pim.reminders": p.Reminders, "pim.notes": p.Notes} {
		k.requireValid(key, strings.TrimSpace(v) != "" && oneLine(v), `must be "hob", the name of an account, or an app such as "apple"`)
	}
	if p.NotesFolder != "" {
		abs, err := system.Expand(p.NotesFolder)
		k.requireValid("pim.notes_folder", err == nil && filepath.IsAbs(abs), `must be a full path such as "~/Notes", or empty`)
		if err == nil {
			p.NotesFolder = abs
		}
	}
}

// Update is the section [update]: the check for a newer version of Hob.
type Update struct {
	Check bool   `toml:"check"`
	URL   string `toml:"url"`
	Key   string `toml:"key"`
}

func (k *checker) checkUpdate() {
	u := k.c.Update
	if u.URL != "" {
		at, err := url.Parse(u.URL)
		k.requireValid("update.url", err == nil && at.Scheme == "https" && at.Hostname() != "" && at.User == nil, `must be an https address such as "https://example.org/hob/latest.json"`)
	}
	if u.Key != "" {
		k.requireValid("update.key", release.CheckKeys(u.Key) == nil, `must be a minisign public key, which begins with "RW", or two keys separated by a comma`)
	}
}

// Watchers is the section [watchers]: the polling of sources.
type Watchers struct {
	Workers  int      `toml:"workers"`
	MinEvery Duration `toml:"min_every"`
	PerDay   int      `toml:"per_day"`
}

func (k *checker) checkWatchers() {
	w := k.c.Watchers
	k.requireBetween("watchers.workers", w.Workers, 1, 64)
	k.requireBetween("watchers.per_day", w.PerDay, 1, 100_000)
	k.requireValid("watchers.min_every", w.MinEvery.Duration >= time.Second && w.MinEvery.Duration <= 24*time.Hour, `must be between "1s" and "24h"`)
}
