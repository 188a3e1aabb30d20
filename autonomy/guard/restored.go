package guard

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/store"
	"hob/platform/store/tombstone"
)

// restoreAction is the action of the audit line that records a restore.
const restoreAction = "restore"

// Cut describes the audit log that a restore replaced: its number of lines and its last hash.
type Cut struct {
	Lines int64
	Head  string
	// Replacement is the id of the store.Replacement, or "" for a restore that the user requested.
	Replacement string
}

// RestoreTx prepares a restored database: it closes the open approval requests, which refer to an
// outdated context, and records the restore in the audit log with the end of the replaced log. It returns
// the closed requests.
func (g *Guard) RestoreTx(tx *store.Tx, snapshot, origin string, replaced Cut) (closed []Approval, err error) {
	if closed, err = pendingApprovals(tx); err != nil {
		return nil, fmt.Errorf("guard: close approval requests of a restore: %w", err)
	}
	_, err = tx.Exec(`UPDATE approvals SET state = ?, decided_by = 'restore', note = ?, decided_at = ? WHERE state = 'pending'`,
		TimedOut, "closed because a backup was restored", time.Now().UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("guard: close approval requests of a restore: %w", err)
	}
	for _, a := range closed {
		err := g.AuditTx(tx, Record{Actor: "hob", Action: "answer", Event: a.Event, Session: a.Session, Origin: origin, Tool: a.Tool, Call: a.Call, Verdict: string(TimedOut), Rule: "approval " + a.ID, Outcome: "restored", Args: a.Arguments})
		if err != nil {
			return nil, err
		}
	}
	return closed, g.AuditTx(tx, Record{
		Actor: "owner", Action: restoreAction, Event: replaced.Replacement, Origin: origin, Verdict: "allow", Rule: "snapshot " + snapshot, Outcome: fmt.Sprintf("replaced:%d:%s", replaced.Lines, replaced.Head),
	})
}

// restoreOf reads the description of a restore from its audit line.
func restoreOf(r Record) (out api.AuditRestore, ok bool) {
	if r.Action != restoreAction {
		return out, false
	}
	out = api.AuditRestore{Line: r.Seq, At: r.At, Snapshot: strings.TrimPrefix(r.Rule, "snapshot ")}
	lines, head, _ := strings.Cut(strings.TrimPrefix(r.Outcome, "replaced:"), ":")
	out.ReplacedLines, _ = strconv.ParseInt(lines, 10, 64) // stays 0 if there was no log
	out.ReplacedHead = head
	return out, true
}

// LastCut returns the end of a replaced log: its last line in the database q, which may be nil or
// damaged, or the end that its anchor file records, if that is later.
func (g *Guard) LastCut(q store.Querier, anchorFile string) (c Cut) {
	if q != nil && q.QueryRow(`SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&c.Lines, &c.Head) != nil {
		c = Cut{}
	}
	if a, err := g.readAnchorFile(anchorFile); err == nil && a != nil && a.Lines > c.Lines {
		c = Cut{Lines: a.Lines, Head: a.Hash}
	}
	return c
}

// ReplacedCut returns the LastCut of a database that the store replaced, whose anchor OpenAuditKey kept.
func (g *Guard) ReplacedCut(r *store.Replacement) Cut {
	c := g.LastCut(nil, replacedAnchor(g.opt.Anchor, r))
	c.Replacement = r.ID
	return c
}

// HasReplacement reports whether the log has a line of RestoreTx with this id.
func HasReplacement(q store.Querier, id string) (has bool, err error) {
	err = q.QueryRow(`SELECT EXISTS (SELECT 1 FROM audit WHERE action = ? AND event = ?)`, restoreAction, id).Scan(&has)
	return has, err
}

func replacedAnchor(anchorFile string, r *store.Replacement) string {
	return anchorFile + ".of-" + r.ID
}

// Tombstones returns the log of revocations and erasures. It exists after InitKeys and is nil without
// an audit key.
func (g *Guard) Tombstones() *tombstone.Log {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tombstones
}

// RevokeRestoredTx ends a restored grant that was revoked after the backup. It reports whether
// the database contains the grant as unrevoked.
func RevokeRestoredTx(tx *store.Tx, id string) (found bool, err error) {
	res, err := tx.Exec(`UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at = 0`, time.Now().UnixMilli(), id)
	if err != nil {
		return false, fmt.Errorf("guard: revoke grants: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// CountRestoredTx adds the uses of a restored grant after the backup. used is the total number of
// uses. It reports whether the database contains the grant with fewer uses.
func CountRestoredTx(tx *store.Tx, id string, used int) (found bool, err error) {
	res, err := tx.Exec(`UPDATE grants SET used = ? WHERE id = ? AND used < ?`, used, id, used)
	if err != nil {
		return false, fmt.Errorf("guard: count uses: %w", err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// ReportAltered records that the file of revocations was changed. CheckStart then returns err.
func (g *Guard) ReportAltered(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.altered = err
}

// AuditHold records the owner's decision about held items; see bus.Hold.
func (g *Guard) AuditHold(tx *store.Tx, id string, release bool, by string) error {
	verdict := "deny"
	if release {
		verdict = "allow"
	}
	raw, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return g.AuditTx(tx, Record{Actor: "owner", Action: "hold", Origin: by, Verdict: verdict, Rule: "restored items", Outcome: "done", Args: raw})
}

// openTombstones creates the log under a key derived from the audit key.
func (g *Guard) openTombstones() {
	if len(g.opt.AuditKey) == 0 || g.opt.Tombstones == "" {
		return
	}
	l := tombstone.New(g.db, g.opt.Tombstones, deriveKey(g.opt.AuditKey, "tombstones"), g.opt.Log)
	g.mu.Lock()
	g.tombstones = l
	g.mu.Unlock()
}

// pendingApprovals returns the open approval requests, oldest first.
func pendingApprovals(tx *store.Tx) (out []Approval, err error) {
	rows, err := tx.Query(`SELECT ` + approvalColumns + ` FROM approvals WHERE state = 'pending' ORDER BY created_at, id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		a, err := scanApproval(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, rows.Err()
}
