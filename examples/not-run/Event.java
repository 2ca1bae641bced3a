// Hibernate 6.5 or later; the URL of the connection has stringtype=unspecified. Not run by any test.

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.hibernate.annotations.Generated;

@Entity
@Table(name = "events")
public class Event {
    @Id
    @Generated
    @Column(columnDefinition = "sno DEFAULT sno_new(1)")
    private String id;

    private String payload;
}
