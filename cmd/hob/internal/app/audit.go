package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"hob/platform/host/system"
	"hob/platform/retry"
)

// auditKey reads the key of the audit log, or creates it. The anchor of a log that was moved
// away with a damaged database is moved, too; Hob notifies the user.
func (d *App) auditKey() ([]byte, error) {
	if d.store.QuarantinedPath() != "" {
		err := system.Rename(d.opt.Paths.AuditAnchorFile(), d.opt.Paths.AuditAnchorFile()+".of-damaged")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the anchor of the audit log: %w", err)
		}
	}
	return system.EnsureKey(d.opt.Paths.AuditKeyFile())
}

// reportAudit notifies the user of an audit log that lost lines since the last run.
func (d *App) reportAudit(ctx context.Context) error {
	err := d.guard.Truncated(ctx)
	if err == nil && d.guard.ForeignKey() {
		err = fmt.Errorf("written with another key than %s", d.opt.Paths.AuditKeyFile())
	}
	if err == nil {
		return nil
	}
	d.opt.Log.Error("audit log check failed", "err", err)
	return d.intake.NotifyCritical(ctx, "audit:"+err.Error(), fmt.Sprintf("Audit log check failed: %v. The database was modified or restored from a backup. See `hob audit verify`.", err))
}

// day is how often the end of the log is noted while Hob runs.
const day = 24 * time.Hour

// noteHeads notes the end of the audit log once a day, in its file and in the
// daily log.
func (d *App) noteHeads(ctx context.Context) error {
	for retry.Sleep(ctx, day) == nil {
		d.noteHead(ctx)
	}
	return nil
}

func (d *App) noteHead(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, err := d.guard.WriteAnchor(ctx)
	if err != nil {
		d.opt.Log.Warn("cannot write the anchor of the audit log", "err", err)
		return
	}
	if h.Lines == 0 {
		return
	}
	d.opt.Log.Info("audit log", "lines", h.Lines, "head", h.Hash)
}
