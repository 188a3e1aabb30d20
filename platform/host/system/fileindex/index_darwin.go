package fileindex

import "hob/platform/host/osrun"

func newBackend(o Options) backend { return spotlight{osrun.Programs{Getenv: o.Getenv}} }
