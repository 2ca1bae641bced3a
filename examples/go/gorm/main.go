// GORM: IDs as values of the package sno.
package main

import (
	"errors"
	"log"
	"os"
	"time"

	"sno"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

type Event struct {
	ID      sno.ID `gorm:"type:sno;primaryKey;default:sno_new(1)"`
	Payload string
}

// Since finds the events since a time.
func Since(db *gorm.DB, at time.Time) (events []Event, err error) {
	err = db.Where("id >= ?", sno.LowerBound(at)).Order("id").Find(&events).Error
	return events, err
}

func check(fact bool, what ...any) {
	if !fact {
		log.Panicln(what...)
	}
}

func must(err error) {
	check(err == nil, err)
}

func main() {
	// The server is that of the environment: PGHOST, PGDATABASE, PGUSER, ...
	db, err := gorm.Open(postgres.Open(""), &gorm.Config{
		Logger: logger.New(log.New(os.Stderr, "", 0), logger.Config{LogLevel: logger.Silent}),
	})
	must(err)
	// Makes the table, and finds nothing to change the second time.
	must(db.AutoMigrate(&Event{}))
	must(db.AutoMigrate(&Event{}))
	var declared string
	must(db.Raw("SELECT format('%s %s', data_type, column_default) FROM information_schema.columns " +
		"WHERE table_name = 'events' AND column_name = 'id'").Scan(&declared).Error)
	check(declared == "USER-DEFINED sno_new(1)", declared)

	first := Event{Payload: "first"}
	must(db.Create(&first).Error)
	check(first.ID != sno.ID{} && first.ID.Fields().Metabyte == 1, first)
	more := []Event{{Payload: "second"}, {Payload: "third"}}
	must(db.Create(&more).Error)
	check(more[0].ID.Compare(first.ID) > 0 && more[1].ID.Compare(more[0].ID) > 0, more)

	var found Event
	must(db.First(&found, "id = ?", first.ID).Error)
	check(found == first, found)
	var some []Event
	must(db.Where("id IN ?", []sno.ID{first.ID, more[1].ID}).Order("id").Find(&some).Error)
	check(len(some) == 2 && some[1] == more[1], some)
	must(db.Model(&found).Update("payload", "changed").Error)

	recent, err := Since(db, time.Now().Add(-time.Hour))
	must(err)
	check(len(recent) == 3 && recent[0].Payload == "changed", recent)
	none, err := Since(db, time.Now().Add(time.Hour))
	must(err)
	check(len(none) == 0, none)

	var page []Event
	must(db.Where("id > ?", first.ID).Order("id").Limit(2).Find(&page).Error)
	check(len(page) == 2 && page[0] == more[0], page)

	err = db.First(&found, "id = ?", "9Q7K4OP826N2G222").Error
	check(err != nil && !errors.Is(err, gorm.ErrRecordNotFound), err)
}
