package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/autonomy/agents"
	"hob/autonomy/config"
	"hob/autonomy/turn"
	"hob/cmd/hob/internal/containertool"
	"hob/platform/host/container"
	"hob/platform/host/system"
	"hob/tools"
)

// boxTimeout is how long one call in a container may take.
const boxTimeout = 2 * time.Minute

// NewBox creates the container of an agent's section; nil if it has none.
func NewBox(p system.Paths, c *config.Config, s config.Member) (*container.Box, string, error) {
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

// memberBox runs the tools of a containerized agent in its container. Without a working
// container the agent does not run at all; it never runs outside.
func (d *App) memberBox(o *turn.Options, m *agents.Member, s config.Member) error {
	box, workspace, err := NewBox(d.opt.Paths, d.opt.Config, s)
	if err != nil || box == nil {
		return err
	}
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return d.opt.Config.Errorf("agents."+s.Name+".container.workspace", "%v", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	limit := cmp.Or(s.Container.Timeout.Duration, boxTimeout)
	var list []tools.Tool
	for _, t := range o.Catalogue.All() {
		if !containertool.Sent(t) && t.Spec().Effects&tools.Exec != 0 {
			continue // it would run programs outside of the container
		}
		if containertool.Sent(t) {
			t = containertool.New(t, box, home, workspace, limit)
		}
		list = append(list, t)
	}
	if o.Catalogue, err = tools.NewCatalogue(list...); err != nil {
		return err
	}
	m.Isolated = true
	m.Refused = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		return box.Check(ctx)
	}
	d.boxes = append(d.boxes, agentBox{s.Name, box})
	return nil
}

// agentBox is the container of an agent.
type agentBox struct {
	agent string
	box   *container.Box
}

// openBoxes tests each agent's container after the start, and removes the remains of a crash. It
// notifies the user of a container that does not work.
func (d *App) openBoxes(ctx context.Context) error {
	for _, b := range d.boxes {
		err := b.box.Check(ctx)
		if err == nil {
			err = b.box.RemoveStale(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		d.opt.Log.Error("agent cannot run", "agent", b.agent, "err", err)
		text := fmt.Sprintf("The agent %s cannot run in its container: %v. It does nothing until this is fixed.", b.agent, err)
		if err := d.intake.Notify(ctx, fmt.Sprintf("box:%s:%d", b.agent, d.started.UnixMilli()), text); err != nil && ctx.Err() == nil {
			d.opt.Log.Error("cannot notify the user of an agent error", "agent", b.agent, "err", err)
		}
	}
	<-ctx.Done()
	return nil
}

// boxProgram is the hob for Linux that runs inside.
func boxProgram(given string) (string, error) {
	if given != "" {
		if fi, err := os.Stat(given); err != nil || !fi.Mode().IsRegular() {
			return "", fmt.Errorf("file not found; set the path of a hob program for Linux")
		}
		return given, nil
	}
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("this Hob is a program for %s, but containers need a Linux program; set its path here", runtime.GOOS)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(self)
}
