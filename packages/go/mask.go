package sno

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

const lastHalf = 1<<40 - 1

// Mask is the mask of an ID, as sno_mask generates it in SQL. The key is 16, 24 or 32 bytes long.
func Mask(id ID, key []byte, context string) (string, error) {
	masked, err := convert(id, key, context, false)
	if err != nil {
		return "", err
	}
	return masked.String(), nil
}

// Unmask is the ID of a mask. A wrong key, context or mask gives the ID of another row, or of none.
func Unmask(masked string, key []byte, context string) (ID, error) {
	id, err := Parse(masked)
	if err != nil {
		return ID{}, err
	}
	return convert(id, key, context, true)
}

// convert is FF1 of NIST SP 800-38G, with radix 32 and 16 numerals: each of the two halves is five bytes.
func convert(id ID, key []byte, context string, back bool) (ID, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return ID{}, err
	}
	input := []byte{1, 2, 1, 0, 0, 32, 10, 8, 0, 0, 0, 16}
	input = binary.BigEndian.AppendUint32(input, uint32(len(context)))
	input = append(input, context...)
	// Zeros up to a whole block, the last six bytes of which are the round and a half.
	for len(input)%16 != 10 {
		input = append(input, 0)
	}
	input = append(input, make([]byte, 6)...)
	last, output := len(input)-6, make([]byte, len(input))
	pad := func(round byte, half uint64) uint64 {
		input[last] = round
		input[last+1] = byte(half >> 32)
		binary.BigEndian.PutUint32(input[last+2:], uint32(half))
		cipher.NewCBCEncrypter(block, make([]byte, 16)).CryptBlocks(output, input)
		// The number is the first 12 bytes of the last block, modulo 2^40.
		return binary.BigEndian.Uint64(output[len(output)-12:]) & lastHalf
	}
	left := uint64(id[0])<<32 | uint64(binary.BigEndian.Uint32(id[1:]))
	right := uint64(id[5])<<32 | uint64(binary.BigEndian.Uint32(id[6:]))
	for round := byte(0); round < 10; round++ {
		if back {
			left, right = (right-pad(9-round, left))&lastHalf, left
		} else {
			left, right = right, (left+pad(round, right))&lastHalf
		}
	}
	id[0], id[5] = byte(left>>32), byte(right>>32)
	binary.BigEndian.PutUint32(id[1:], uint32(left))
	binary.BigEndian.PutUint32(id[6:], uint32(right))
	return id, nil
}
