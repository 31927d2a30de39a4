PRAGMA application_id=1902277241;
PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE events (
        root TEXT NOT NULL,
        seq INTEGER NOT NULL CHECK (seq > 0),
        epoch INTEGER NOT NULL CHECK (epoch > 0),
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        hash TEXT NOT NULL CHECK (length(hash) = 64),
        PRIMARY KEY (root, seq)
    ) STRICT;
INSERT INTO "events" VALUES('a',1,1,'opened','{"check":"74076af7e542d5837ab8019c4b2908e9c4f37ecb4fe81b1383c11b1cac6d4363","fingerprint":{"contents":"da752e2398c8fbdd24c4e3375144bdec25ec64f131b207351986812da15fe6a7","kind":"values"},"mechanism":"{\"@\":\"filt-con/1\",\"budget\":{\"@\":\"zcdp/1\",\"rho\":\"5\"},\"d_in\":1,\"max_depth\":100,\"on_exceed\":\"refuse\",\"rule\":{\"@\":\"basic/1\"}}","protects":["row","each row on its own, also if several belong to one person",null],"salt":"e0e150cdf8af0f4b0e96624387ed1fc9","schema":1}','0f9ecac49688aed3feaf4faa974bda3ec037f45155fde38760ae43ad1726ffde');
INSERT INTO "events" VALUES('a',2,1,'answer','{"answer":"null","of":1}','b4b586721fb7b72bbd39691df21c46d4e3929f50f9559ef259b02fad081bcee7');
INSERT INTO "events" VALUES('a',3,1,'intent','{"charges":[{"account":"{\"@\":\"additive-account/1\",\"budget\":{\"@\":\"zcdp/1\",\"rho\":\"5\"},\"most\":[\"5\"],\"sum\":{\"@\":\"running-sum/1\",\"parts\":[\"152756267564959594506477567039/39614081257132168796771975168\"],\"zero\":{\"@\":\"zcdp/1\",\"rho\":\"0\"}}}","charged":"{\"@\":\"zcdp/1\",\"rho\":\"152756267564959594506477567039/39614081257132168796771975168\"}","d_in":1,"place":0}],"history":"2651a00bef77d3e59980cbc841183c7b7b20d6f33d95cc1a0773fff2caa73108","n":1,"names":["search"],"on":1795381537,"path":[],"query":"{\"@\":\"launch/1\",\"mechanism\":{\"@\":\"sparse-vector/1\",\"cutoff\":7,\"epsilon\":\"4\",\"sensitivity\":2,\"threshold\":\"20\"}}"}','986035152895a5b4ea63eb009f0d30794aedc2f9af6dd8cbb28963e30926388c');
INSERT INTO "events" VALUES('a',4,1,'answer','{"answer":"{\"@\":\"launched/1\",\"child\":0}","of":3}','fbe0c63eacaeb0fb6a5f8b296329c45ce5a63dc022362497d1f97334e2067c54');
INSERT INTO "events" VALUES('a',5,1,'intent','{"history":"e2443bffeef1621186e044dbd06891e9a09a5f1f6ee92f31bb947610d86c4f83","n":2,"on":1795381537,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":50}}"}','5b49e345454f9495a3fe406227b4d6e3f3c4dd1a7baac8725e28960237cd9345');
INSERT INTO "events" VALUES('a',6,1,'answer','{"answer":"false","of":5}','76e4dff7ac08f8fba4a4cc06187cbdcbd7a853e6945966222c0a8afd78efe39a');
INSERT INTO "events" VALUES('a',7,1,'intent','{"history":"fa5892993749c2507a03ce3a1f58e754060c5ec792e275394f61f902acc38827","n":3,"on":1795381537,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":40}}"}','fbaf5ff61127807361662a193afe19ce2c14c4963663076ed2ceaf3077b80bf9');
INSERT INTO "events" VALUES('a',8,1,'answer','{"answer":"false","of":7}','49e33a90d930bbaf766b1705f549e920d2bd687ef8121dc349a0f45865ad45b6');
INSERT INTO "events" VALUES('a',9,1,'intent','{"history":"abace66ff4633690741f0a0cd39c4b174b7054122825ae445c6fb1f743ae0826","n":4,"on":1795381538,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":10}}"}','511cd02f2f11d1ef91bdc3037874dc1ee76a5d2c6e37d7229a39846121910c02');
INSERT INTO "events" VALUES('a',10,1,'answer','{"answer":"true","of":9}','3348240c8398042cc027ea4e23b93c6e9e38fed0325275b14b8de10ba476ae5c');
INSERT INTO "events" VALUES('a',11,1,'intent','{"history":"af8e7b6c8eaf88267f31bf6a62235ac82a1f02609688957922e356952b997bc0","n":5,"on":1795381538,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":36}}"}','44531c912657b4da777695969c5828de2b26a20abb1892adbb61be471b7ba662');
INSERT INTO "events" VALUES('a',12,1,'answer','{"answer":"false","of":11}','10de70f534384da0388e0c2c2a7614317af1a631ec7bff08d50d5637c69c7edc');
INSERT INTO "events" VALUES('a',13,1,'intent','{"history":"f6db4e9330a530eac2c8b04e50d58f2d1200b23af95e99c209b001d29a004064","n":6,"on":1795381538,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":30}}"}','c19e5fb1ac01745a15b659cf1eabf291165dc189b08642131eb2ffe54762d28d');
INSERT INTO "events" VALUES('a',14,1,'answer','{"answer":"true","of":13}','7839bbd248cf433614703cdd7289167f5492678102c9fcb1b7dd2c8a2b3e262e');
INSERT INTO "events" VALUES('a',15,1,'intent','{"history":"7f5858c077a328ee63e4fae44f9c431c78c6203c8ba8691f937cfd0d0d4c4c48","n":7,"on":1795381538,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":45}}"}','bbded95b786e9f617497834a957cf0c2acc3a9124a21e66b53894fe087a0f059');
INSERT INTO "events" VALUES('a',16,1,'answer','{"answer":"false","of":15}','5160cdfc933dfc62e303a6761c0c0710438a662f82f99dd1395fe86e47ca9f74');
INSERT INTO "events" VALUES('a',17,1,'intent','{"history":"ed6a3eac2f4cf47a835873ded01c1ddee0719a8556aab9102915eb3e6b9ac21e","n":8,"on":1795381538,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":20}}"}','c632d5d3ff8d0f5a4834bc2f10e6575643420b5713ade2b842b60213c59a5798');
INSERT INTO "events" VALUES('a',18,1,'answer','{"answer":"false","of":17}','8d1c59429e81819db14b4f6bb0f57eac83cc3002f635182ee6de54ea5a8604a0');
INSERT INTO "events" VALUES('a',19,1,'intent','{"history":"48a238a4eb41d01dae32027ecd34c7ec9d51df4eb72e35da7900e082624bb90e","n":9,"on":1795381538,"path":[0],"query":"{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":41}}"}','b1eb0fd936e661af0e169bc9959fa49b789dd6f182df7d379f622f4e69ffddfc');
INSERT INTO "events" VALUES('a',20,1,'answer','{"answer":"false","of":19}','17568aba966acefe7caa4e0e3b12e06f95cdfeed63bf7c552448a978f900667c');
INSERT INTO "events" VALUES('a',21,1,'intent','{"history":"74ccf29a2df125742799d8d8a90ca205dec7d22329faa3535244ec5f01cee7a7","n":10,"on":1795381538,"path":[0],"query":"{\"@\":\"ask-many/1\",\"queries\":[{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":39}},{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":37}},{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":35}},{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":33}},{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":31}},{\"@\":\"count/1\",\"where\":{\"@\":\"comparison/1\",\"column\":\"age\",\"operator\":\">\",\"value\":29}}]}"}','37c9ad21e37c3e9eaa4cdebb9dc5d43835a2d1e12a1b620a10603a3999c7dba3');
INSERT INTO "events" VALUES('a',22,1,'answer','{"answer":"[false,false,true,true,false,true]","of":21}','9ddead51ad0f00d88fc472b63a207a9dac1110d4e392753db7fce5a96c654960');
CREATE TABLE leases (
        root TEXT NOT NULL PRIMARY KEY,
        epoch INTEGER NOT NULL CHECK (epoch > 0),
        holder TEXT,
        since REAL NOT NULL,
        until REAL NOT NULL
    ) STRICT;
INSERT INTO "leases" VALUES('a',1,NULL,1.79538153794216442105e+09,1.79538156794216442104e+09);
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events of a ledger cannot be changed'); END;
CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
        WHEN EXISTS (SELECT 1 FROM events WHERE root = new.root AND seq = new.seq)
            OR EXISTS (SELECT 1 FROM events WHERE rowid = new.rowid)
        BEGIN SELECT RAISE(ABORT, 'events of a ledger cannot be changed'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events of a ledger cannot be deleted'); END;
CREATE TRIGGER epochs_grow BEFORE UPDATE ON leases WHEN new.epoch < old.epoch
        BEGIN SELECT RAISE(ABORT, 'epochs only grow'); END;
CREATE TRIGGER epochs_grow_by_replacing BEFORE INSERT ON leases
        WHEN new.epoch <= (SELECT epoch FROM leases WHERE root = new.root)
        BEGIN SELECT RAISE(ABORT, 'epochs only grow'); END;
CREATE TRIGGER leases_are_not_deleted BEFORE DELETE ON leases
        BEGIN SELECT RAISE(ABORT, 'leases cannot be deleted'); END;
COMMIT;
