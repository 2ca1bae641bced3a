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

func Find(db *gorm.DB, key string) (found Event, err error) {
	id, err := sno.Parse(key)
	if err != nil {
		return found, gorm.ErrRecordNotFound
	}
	err = db.First(&found, "id = ?", id).Error
	return found, err
}

func Since(db *gorm.DB, at time.Time) (recent []Event, err error) {
	err = db.Order("id").Find(&recent, "id >= ?", sno.LowerBound(at)).Error
	return recent, err
}

func After(db *gorm.DB, last sno.ID) (page []Event, err error) {
	err = db.Order("id").Limit(50).Find(&page, "id > ?", last).Error
	return page, err
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

	event := Event{Payload: "first"}
	err = db.Create(&event).Error
	must(err)
	check(event.ID != sno.ID{} && event.ID.Fields().Metabyte == 1, event)
	more := []Event{{Payload: "second"}, {Payload: "third"}}
	must(db.Create(&more).Error)
	check(more[0].ID.Compare(event.ID) > 0 && more[1].ID.Compare(more[0].ID) > 0, more)

	found, err := Find(db, event.ID.String())
	must(err)
	check(found == event, found)
	var some []Event
	must(db.Where("id IN ?", []sno.ID{event.ID, more[1].ID}).Order("id").Find(&some).Error)
	check(len(some) == 2 && some[1] == more[1], some)
	must(db.Model(&found).Update("payload", "changed").Error)

	recent, err := Since(db, time.Now().Add(-time.Hour))
	must(err)
	check(len(recent) == 3 && recent[0].Payload == "changed", recent)
	none, err := Since(db, time.Now().Add(time.Hour))
	must(err)
	check(len(none) == 0, none)

	page, err := After(db, event.ID)
	must(err)
	check(len(page) == 2 && page[0] == more[0], page)

	// What is no ID: checked here it is not found, unchecked it is an error of the server.
	for _, missing := range []string{"garbage", "9Q7K4OP826N2G222", "xxxxxxxxxxxxxxxx"} {
		_, err = Find(db, missing)
		check(errors.Is(err, gorm.ErrRecordNotFound), missing, err)
	}
	err = db.First(&found, "id = ?", "9Q7K4OP826N2G222").Error
	check(err != nil && !errors.Is(err, gorm.ErrRecordNotFound), err)
}
