package store

import "bytes"

// update changes one record. The caller holds its lock. read returns nil if there is no record.
func update(key Key, change func(Record) (Record, error), read func() ([]byte, error), write func([]byte) error) error {
	old, err := read()
	if err != nil {
		return err
	}
	var before Record
	if old != nil {
		if _, before, err = Decode(old); err != nil {
			return err
		}
	}
	was, err := before.Encode(key) // now: change may write to what before refers to
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return err
	}
	after.Generation = before.Generation
	if is, err := after.Encode(key); err != nil || bytes.Equal(was, is) {
		return err
	}
	after.Generation++
	text, err := after.Encode(key)
	if err != nil {
		return err
	}
	return write(text)
}
