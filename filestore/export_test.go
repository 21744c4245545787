package filestore

// ForgetMasks empties the cache of masks.
func (s *Store) ForgetMasks() { s.masks = newLRU[string, Mask](s.masks.limit) }
