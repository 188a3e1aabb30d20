// Package recovery restores a snapshot of a home. After a restore, Hob does not act on old data on
// its own, and revocations and erasures stay in force.
//
// Restore prepares the database in a staging folder: it migrates the database, applies the
// revocations and erasures since the snapshot (package tombstone), closes open approval requests,
// puts queued messages and open events on hold (bus.Hold) and records the restore in the audit log.
// Then one rename of a journal file commits the restore, and Resume copies the staged files into
// the home. If the process is killed before the commit, the old home stays unchanged. If it is
// killed later, the next start completes the restore.
//
// Sync does the same for a database that was replaced in another way, such as a damaged one. The
// commands call Restore and Resume; the composition root calls Open.
package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"hob/autonomy/bus"
	"hob/autonomy/guard"
	"hob/autonomy/guard/clients"
	"hob/autonomy/guard/pairing"
	"hob/knowledge"
	"hob/platform/store"
	"hob/platform/store/erase"
	"hob/platform/store/tombstone"
)

// Applied counts the revocations and erasures that Sync applied again.
type Applied struct {
	Grants   int `json:"grants"`
	Pairings int `json:"pairings"`
	Clients  int `json:"clients"`  // revoked tokens of external programs
	Erasures int `json:"erasures"` // completed by the next start
	// Uses is the number of grants with a limit that were used since the backup.
	Uses int `json:"uses"`
}

// SyncOptions are the parameters of Sync. Store and Guard are required.
type SyncOptions struct {
	Store *store.Store
	Guard *guard.Guard // after InitKeys
	// Files are text files that may contain erased phrases, in addition to the database.
	Files []string
	Carry Carry // may be nil
	Log   *slog.Logger
}

// Open initializes the keys of the guard and calls Sync.
func Open(ctx context.Context, o SyncOptions) error {
	if err := o.Guard.InitKeys(ctx); err != nil {
		return err
	}
	_, err := Sync(ctx, o)
	return err
}

// Sync applies the revocations and erasures that the database lacks. If the store replaced the
// database with a backup, now or before a crash, Sync also puts the restored work on hold. Sync
// does not fail if the file of revocations was altered, because guard.CheckStart reports this.
func Sync(ctx context.Context, o SyncOptions) (a Applied, err error) {
	a, altered, err := syncTombstones(ctx, o)
	if err != nil {
		return a, err
	}
	if altered != nil {
		o.Guard.ReportAltered(altered)
	}
	if a != (Applied{}) && o.Log != nil {
		o.Log.Warn("the database was restored: revocations and erasures applied again", "grants", a.Grants, "pairings", a.Pairings, "clients", a.Clients, "erasures", a.Erasures, "used_grants", a.Uses)
	}
	if r := o.Store.Replacement(); r != nil {
		return a, holdReplaced(ctx, o, r)
	}
	return a, nil
}

// carryNothing handles the records that are lost with a damaged or missing database.
func carryNothing(tx *store.Tx, o SyncOptions) error {
	if o.Carry == nil {
		return nil
	}
	warning, err := o.Carry(tx, nil)
	if err == nil && warning != "" && o.Log != nil {
		o.Log.Warn("records lost with the replaced database", "effect", warning)
	}
	return err
}

// syncTombstones applies the missing revocations and erasures. altered is the reason why the file
// of revocations was repaired, or nil.
func syncTombstones(ctx context.Context, o SyncOptions) (a Applied, altered, err error) {
	_, err = o.Guard.Tombstones().Sync(ctx, func(tx *store.Tx, missing []tombstone.Entry) error {
		a, err = applyEntries(tx, o, missing)
		return err
	})
	if errors.Is(err, tombstone.ErrAltered) {
		return a, err, nil
	}
	if err != nil {
		return a, nil, fmt.Errorf("apply revocations and erasures: %w", err)
	}
	return a, nil, nil
}

// holdReplaced puts the work in a backup on hold if the backup replaced a damaged or missing
// database. The store reports the replacement again after a crash; the entry in the audit log shows
// that the work has already been put on hold.
func holdReplaced(ctx context.Context, o SyncOptions, r *store.Replacement) error {
	var empty bool
	if err := o.Store.Reader(ctx).QueryRow(`SELECT NOT EXISTS (SELECT 1 FROM audit) AND NOT EXISTS (SELECT 1 FROM inbox)`).Scan(&empty); err != nil {
		return err
	}
	if empty || r.Backup == "" {
		return o.Store.Write(ctx, func(tx *store.Tx) error { return carryNothing(tx, o) })
	}
	name := "the newest good backup (" + r.Backup + ")"
	return o.Store.Write(ctx, func(tx *store.Tx) error {
		if held, err := guard.HasReplacement(tx, r.ID); err != nil || held {
			return err
		}
		if _, err := o.Guard.RestoreTx(tx, name, "start", o.Guard.ReplacedCut(r)); err != nil {
			return err
		}
		if err := carryNothing(tx, o); err != nil {
			return err
		}
		return bus.StartHoldTx(tx, name)
	})
}

func applyEntries(tx *store.Tx, o SyncOptions, missing []tombstone.Entry) (a Applied, err error) {
	sealed := map[string]erase.Sealed{}
	used := map[string]bool{}
	for _, e := range missing {
		switch e.Kind {
		case tombstone.Grant:
			found, err := guard.RevokeRestoredTx(tx, e.Ref)
			if err != nil {
				return a, err
			}
			if found {
				a.Grants++
			}
		case tombstone.Use:
			var n int
			if err := json.Unmarshal(e.Data, &n); err != nil {
				return a, fmt.Errorf("count the uses of the grant %s: %w", e.Ref, err)
			}
			found, err := guard.CountRestoredTx(tx, e.Ref, n)
			if err != nil {
				return a, err
			}
			if found {
				used[e.Ref] = true
			}
		case tombstone.Client:
			found, err := clients.RevokeRestoredTx(tx, e.Ref)
			if err != nil {
				return a, err
			}
			if found {
				a.Clients++
			}
		case tombstone.Pairing:
			p, found, err := pairing.RemoveRestoredTx(tx, e.Ref)
			if err != nil {
				return a, err
			}
			if found {
				a.Pairings++
				if err := new(bus.OwnerMessages).RevokeTx(tx, p.Channel, p.Sender); err != nil {
					return a, err
				}
			}
		case tombstone.Erasure:
			var s erase.Sealed
			if err := json.Unmarshal(e.Data, &s); err != nil {
				return a, fmt.Errorf("erasure %s: %w", e.Ref, err)
			}
			sealed[e.Ref] = s
		}
	}
	a.Erasures, a.Uses = len(sealed), len(used)
	return a, reopenErasures(tx, o, sealed)
}

// reopenErasures finds the texts of erasures in the restored data and starts the erasures again.
func reopenErasures(tx *store.Tx, o SyncOptions, sealed map[string]erase.Sealed) error {
	if len(sealed) == 0 {
		return nil
	}
	var all []erase.Sealed
	var ids []string
	for id, s := range sealed {
		all, ids = append(all, s), append(ids, id)
	}
	slices.Sort(ids)
	opener := erase.NewOpener(o.Guard.Tombstones().Key(), all)
	if err := erase.ReadTables(tx, opener.Read); err != nil {
		return err
	}
	for _, name := range o.Files {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		opener.Read(b)
	}
	for _, id := range ids {
		if err := knowledge.ReopenTx(tx, opener.Open(id, sealed[id])); err != nil {
			return err
		}
	}
	return nil
}
