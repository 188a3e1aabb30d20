package app

import (
	"context"
	"errors"

	"hob/knowledge"
	"hob/knowledge/graph"
	"hob/knowledge/transfer"
)

func (x exporter) exportGraph(ctx context.Context) error {
	if err := x.d.graph.CatchUp(ctx, x.d.base); err != nil {
		return err
	}
	return x.d.graph.ForEach(x.q,
		func(e knowledge.Entity) error { return x.w.Write(transfer.Record{Entity: &e}) },
		func(r knowledge.Relation) error { return x.w.Write(transfer.Record{Relation: &r}) })
}

// putGraph imports entities and relations that were created explicitly. The others are derived
// from facts, which are imported as well.
func (p batchImport) putGraph(r transfer.Record) (added bool, err error) {
	im := p.im
	if e := r.Entity; e != nil {
		if im.isHobExport() && !e.ByHand || e.ID == graph.OwnerID {
			return false, nil
		}
		said := e.ID
		e.ID = im.recordID("e", e.ID)
		e.Source = im.sourceRef(e.Source)
		e.Provenance = im.limitSource(e.Provenance)
		if !im.isTrustedSource() {
			e.Realm = ""
		}
		var id string
		if id, added, err = im.d.graph.RestoreEntityTx(p.tx, *e); err == nil {
			im.entities[said] = id
		}
		if errors.Is(err, knowledge.ErrNoEntity) {
			return false, invalidRecordError{err}
		}
		return added, err
	}
	x := r.Relation
	if im.isHobExport() && !x.ByHand {
		return false, nil
	}
	x.ID = im.recordID("r", x.ID)
	x.Fact = im.recordID("f", x.Fact)
	x.Source = im.sourceRef(x.Source)
	x.Provenance = im.limitSource(x.Provenance)
	x.From, x.To = im.localEntityID(x.From), im.localEntityID(x.To)
	if !im.isTrustedSource() {
		x.Realm = ""
	}
	added, err = im.d.graph.RestoreRelationTx(p.tx, *x)
	switch {
	case errors.Is(err, graph.ErrNoEnd) && im.in.DryRun: // it would be there
		return true, nil
	case errors.Is(err, graph.ErrNoEnd), errors.Is(err, knowledge.ErrNoEntity):
		return false, invalidRecordError{err}
	}
	return added, err
}

// localEntityID is the id under which an entity of the file is known here.
func (im *importer) localEntityID(id string) string {
	if e, ok := im.entities[id]; ok {
		return e
	}
	if id == graph.OwnerID && im.isTrustedSource() {
		return id
	}
	return ""
}
