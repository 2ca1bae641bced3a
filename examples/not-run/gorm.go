// GORM with its driver for PostgreSQL. Not run by any test.

package models

import (
	"time"

	"gorm.io/gorm"
)

type Event struct {
	ID      string `gorm:"type:sno;primaryKey;default:sno_new(1)"`
	Payload string
}

// Since finds the events since a time.
func Since(db *gorm.DB, at time.Time) (events []Event, err error) {
	err = db.Where("id >= sno_lower(?)", at).Order("id").Find(&events).Error
	return events, err
}
