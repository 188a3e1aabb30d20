package sound

func newBackend(o Options) backend { return macBackend{o.Scripts} }
