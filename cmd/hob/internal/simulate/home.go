package simulate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/autonomy/config"
	llmall "hob/autonomy/llm/all"
	"hob/platform/host/system"
	"hob/platform/store"
)

// copyHome copies the configuration, its text files and rules, and the database. The only secret
// that it copies is the audit log key.
func (p *play) copyHome(ctx context.Context) error {
	if err := errors.Join(p.paths.Ensure(), os.MkdirAll(p.users, 0o700)); err != nil {
		return err
	}
	from := p.o.Paths
	for _, name := range []string{from.ConfigFile(), from.SoulFile(), from.UserFile(), from.MemoryFile(), from.AuditKeyFile(), from.AuditAnchorFile(), from.PolicyDir(), from.AgentDir("")} {
		if err := copyAll(name, filepath.Join(p.paths.Home, filepath.Base(name))); err != nil {
			return err
		}
	}
	if _, err := os.Stat(from.Database()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return store.CopyDatabase(ctx, from.Database(), p.paths.Database())
}

func copyAll(from, to string) error {
	fi, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if fi.IsDir() {
		return copyTree(from, to)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return system.WriteFile(to, b)
}

// copyTree copies the regular files in a folder. It skips the working files of containers, which
// may have any size.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(from, path)
		switch {
		case err != nil || rerr != nil:
			return errors.Join(err, rerr)
		case e.IsDir() && e.Name() == workspace:
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return system.WriteFile(filepath.Join(to, rel), b)
	})
}

// workspace is the name of the working folder of an agent in a container.
const workspace = "workspace"

// loadConfig loads the copied configuration with the script's additions, and removes all access to
// the real environment.
func (p *play) loadConfig() error {
	if add := p.o.Script.Config; add != "" {
		b, err := os.ReadFile(p.paths.ConfigFile())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := system.WriteFile(p.paths.ConfigFile(), append(b, "\n"+add...)); err != nil {
			return err
		}
	}
	c, err := config.Load(p.paths.ConfigFile())
	if err != nil {
		return err
	}
	if c.Store.URL != "" { // a file from before the move would show old data
		return errors.New("simulate: the data of this home is in PostgreSQL, and a simulation copies the file hob.db; copy the data into a home without [store] url: hob store copy --to sqlite")
	}
	if p.o.Zone != "" {
		c.Agent.Timezone = p.o.Zone
	}
	if p.zone, err = system.Zone(c.Agent.Timezone); err != nil {
		return err
	}
	answers := len(p.o.Script.Answers) > 0
	switch {
	case p.o.Model == Configured && answers:
		return errors.New("the script contains model answers; remove --model configured")
	case p.o.Model == Configured:
		if err := onlyServers(c); err != nil {
			return err
		}
	case answers || p.o.Replay && c.Agent.Model != Offline && (c.Agent.Model != "auto" || len(c.Providers) > 0):
		kind, _ := llmall.Compatible()
		c.Agent.Model, c.Providers = scriptModel, []config.Provider{{Name: scriptProvider, Kind: kind, BaseURL: scriptURL, Model: "model"}}
		onlyMain(c)
	default:
		c.Agent.Model, c.Providers = Offline, nil
		onlyMain(c)
	}
	for i := range c.Members { // disable containers, because they would really run
		c.Members[i].Isolation = ""
	}
	c.Knowledge.Embeddings, c.Knowledge.Folders = "off", nil
	c.Network.Proxy = ""
	c.Autonomy.Tick.Duration = max(c.Autonomy.Tick.Duration, tick)
	for i, dir := range c.Files.Allowed {
		c.Files.Allowed[i] = p.copyPath(dir)
		if rel, err := filepath.Rel(p.users, c.Files.Allowed[i]); err == nil && filepath.IsLocal(rel) { // the folder is below the simulated home
			if err := os.MkdirAll(c.Files.Allowed[i], 0o700); err != nil {
				return err
			}
		}
	}
	for i, dir := range c.Files.Trusted {
		c.Files.Trusted[i] = p.copyPath(dir)
	}
	c.Files.Drop = p.copyPath(c.Files.Drop)
	p.conf = c
	p.start = p.o.Start
	if p.start.IsZero() {
		p.start = time.Now().Add(time.Second) // one second later, so that events that have just arrived are in the past
	}
	p.start = p.start.Truncate(time.Second)
	return nil
}

// tick is the minimum tick interval of the loop in a simulation. Due work wakes the loop anyway,
// and each tick takes real time.
const tick = 5 * time.Minute

// onlyServers removes the providers that are external agents, because an external agent would
// perform real actions on the user's files. It returns an error if a configured model needs one.
func onlyServers(c *config.Config) error {
	acts := map[string]bool{}
	for _, pr := range c.Providers {
		acts[pr.Name] = pr.Kind == llmall.Acting
	}
	names := append([]string{c.Agent.Model, c.Agent.SmallModel}, config.FallbackModels(c.Agent.Fallback)...)
	if c.Agent.Model == "auto" && len(c.Providers) > 0 {
		names[0] = c.Providers[0].Name
	}
	for _, m := range c.Members {
		names = append(append(names, m.Model), config.FallbackModels(m.Fallback)...)
	}
	for _, name := range names {
		if of, _, _ := strings.Cut(name, "/"); acts[of] {
			return fmt.Errorf("[providers.%s] is an external agent, which would perform real actions; remove --model configured", of)
		}
	}
	c.Providers = slices.DeleteFunc(c.Providers, func(pr config.Provider) bool { return acts[pr.Name] })
	return nil
}

// onlyMain disables all models except the agent's main model.
func onlyMain(c *config.Config) {
	c.Agent.Fallback, c.Agent.SmallModel = nil, ""
	if c.Knowledge.Extraction != "off" {
		c.Knowledge.Extraction = "rules"
	}
	c.Knowledge.Corrective, c.Knowledge.Reranker, c.Knowledge.Pictures, c.Guard.Guardian = "off", "off", "off", "off"
	for i := range c.Members {
		c.Members[i].Model, c.Members[i].Fallback = "", nil
	}
}

// copyPath maps a path in the user's home to a path in the copy.
func (p *play) copyPath(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(p.users, rest)
	}
	if p.o.Home == "" {
		return path
	}
	if path == p.o.Home {
		return p.users
	}
	if rest, ok := strings.CutPrefix(path, p.o.Home+string(filepath.Separator)); ok {
		return filepath.Join(p.users, rest)
	}
	return path
}

// inHome resolves a path in the script. The path must be below "~".
func (p *play) inHome(path string) (string, error) {
	rest := strings.TrimPrefix(filepath.ToSlash(path), "~/")
	if !filepath.IsLocal(rest) {
		return "", fmt.Errorf("%q is not below ~", path)
	}
	return filepath.Join(p.users, rest), nil
}
