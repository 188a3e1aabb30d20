package containertool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/autonomy/config"
	"hob/platform/host/container"
	"hob/platform/host/system"
	"hob/tools"
)

// boxTimeout is the time limit for one call in a container.
const boxTimeout = 2 * time.Minute

// OpenBox creates the container that an agent's section configures, and returns its workspace. It
// returns nil if the section configures no container. It does not start the container.
func OpenBox(p system.Paths, c *config.Config, s config.Member) (*container.Box, string, error) {
	if s.Isolation != "container" {
		return nil, "", nil
	}
	key := "agents." + s.Name + ".container"
	program, err := boxProgram(s.Container.Program)
	if err != nil {
		return nil, "", c.Errorf(key+".program", "%v", err)
	}
	workspace := cmp.Or(s.Container.Workspace, filepath.Join(p.AgentDir(s.Name), "workspace"))
	for _, own := range []string{p.Home, p.Data} {
		if rel, err := filepath.Rel(workspace, own); err == nil && filepath.IsLocal(rel) {
			return nil, "", c.Errorf(key+".workspace", "contains Hob's own files (%s), which containers must not see; choose a separate folder", own)
		}
	}
	home := sha256.Sum256([]byte(p.Data))
	b := s.Container
	box, err := container.New(container.Options{
		Engine: b.Engine, Image: cmp.Or(b.Image, "busybox:stable"), Home: hex.EncodeToString(home[:6]), Name: s.Name, Memory: b.Memory, CPUs: b.CPUs, PIDs: b.PIDs,
		Network: b.Network, Timeout: cmp.Or(b.Timeout.Duration, boxTimeout), Program: program, Workspace: workspace,
	})
	if err != nil {
		return nil, "", c.Errorf(key, "%v", err)
	}
	return box, workspace, nil
}

// Boxes manages the containers of the agents. Call Contain for each agent, then Run.
type Boxes struct {
	Paths  system.Paths
	Config *config.Config
	// Notify notifies the user.
	Notify func(ctx context.Context, key, text string) error
	Log    *slog.Logger

	list []agentBox
}

// agentBox is the container of an agent.
type agentBox struct {
	agent string
	box   *container.Box
}

// Contain returns the tools of an agent that has a container, and a check of the container. It
// returns nil and nil for other agents. An agent with a container must not run if the container
// does not work.
func (b *Boxes) Contain(s config.Member, all *tools.Catalog) (*tools.Catalog, func(context.Context) error, error) {
	box, workspace, err := OpenBox(b.Paths, b.Config, s)
	if err != nil || box == nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return nil, nil, b.Config.Errorf("agents."+s.Name+".container.workspace", "%v", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil, err
	}
	limit := cmp.Or(s.Container.Timeout.Duration, boxTimeout)
	var list []tools.Tool
	for _, t := range all.Own() { // foreign tools run outside the container
		if !Sent(t) && t.Spec().Effects&tools.Exec != 0 {
			continue // the tool would run programs outside the container
		}
		if Sent(t) {
			t = New(t, box, home, workspace, limit)
		}
		list = append(list, t)
	}
	b.list = append(b.list, agentBox{s.Name, box})
	contained, err := tools.NewCatalog(list...)
	return contained, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return box.Check(ctx)
	}, err
}

// Run tests each agent's container, removes containers that a crash left behind, and waits until
// ctx ends. It notifies the user if a container does not work.
func (b *Boxes) Run(ctx context.Context) error {
	start := time.Now().UnixMilli()
	for _, x := range b.list {
		err := x.box.Check(ctx)
		if err == nil {
			err = x.box.RemoveStale(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		b.Log.Error("agent cannot run", "agent", x.agent, "err", err)
		text := fmt.Sprintf("The agent %s cannot run in its container: %v. It runs no tasks until this is fixed.", x.agent, err)
		if err := b.Notify(ctx, fmt.Sprintf("box:%s:%d", x.agent, start), text); err != nil && ctx.Err() == nil {
			b.Log.Error("cannot notify the user of an agent error", "agent", x.agent, "err", err)
		}
	}
	<-ctx.Done()
	return nil
}

// boxProgram returns the path of the Linux build of hob that runs inside the container.
func boxProgram(given string) (string, error) {
	if given != "" {
		if fi, err := os.Stat(given); err != nil || !fi.Mode().IsRegular() {
			return "", fmt.Errorf("file not found; set the path of a hob program for Linux")
		}
		return given, nil
	}
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("this is a %s build of hob, but containers need a Linux build; set the path of a Linux build", runtime.GOOS)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(self)
}
